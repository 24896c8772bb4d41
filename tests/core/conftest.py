"""Surroundings that tests of files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A folder with `x.json` in it that an unprivileged process can read and not change."""
    folder = tmp_path / "unwritable"
    folder.mkdir()
    (folder / "x.json").write_bytes(b"{}")
    (folder / "x.json").chmod(0o600)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o700)
