"""What every test stands on: a home of its own, steady Hypothesis settings, and the state of the manifest."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import quick
from tests.cluster import a_place, crashing, postgres
from tests.needs import Needs
from tests.spec.manifest import load_entries

__all__ = ["a_place", "crashing", "postgres"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Needs(), "needs")
    quick.configure(config)
    settings.register_profile(
        "pflow",
        deadline=None,  # a busy machine is no failure
        suppress_health_check=[HealthCheck.too_slow],
        derandomize="CI" in os.environ,
        print_blob=True,
        max_examples=quick.examples(100),
    )
    settings.load_profile("pflow")


def pytest_collection_finish() -> None:
    """Search for garbage as seldom as the program does, and never among the tests: it takes a twentieth of a run."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`PFLOW_HOME`, not yet made, in the test's own `HOME`: no test can touch the person's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PFLOW_HOME", str(tmp_path / ".pflow"))
    return tmp_path / ".pflow"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    entries = load_entries()
    parts = Counter(entry.pending for entry in entries if entry.pending)
    deviations = sum(bool(entry.deviation) for entry in entries)
    covered = len(entries) - parts.total() - deviations
    pending = ", ".join(f"{part} {count}" for part, count in sorted(parts.items()))
    terminalreporter.write_line(
        f"requirements: {covered} covered, {deviations} deviations, {parts.total()} pending ({pending})"
    )
