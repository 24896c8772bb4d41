"""Surroundings that tests of files share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.file.forking import NOBODY


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """A folder with `x.json` in it that an unprivileged process can read and not change."""
    # pytest's own folders are closed to everybody else, also to the user that root's children become.
    folder = Path(tempfile.mkdtemp())
    (folder / "x.json").write_bytes(b"{}")
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        os.chown(folder / "x.json", NOBODY, NOBODY)
    (folder / "x.json").chmod(0o600)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)
