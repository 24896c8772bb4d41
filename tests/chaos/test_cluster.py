"""A place whose parts are killed, frozen and stopped loses no run and repeats nothing unasked: the short form."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dev_install import ROOT


@pytest.mark.needs("postgres", "temporal")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_run_is_lost_and_nothing_is_repeated_unasked() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "cluster", "--short"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worker killed" in done.stdout
