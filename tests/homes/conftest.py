"""Recorded homes as the tests of this folder use them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Pflow, Said, pflow, registry_file

__all__ = ["pflow", "registry_file"]

HERE = Path(__file__).parent
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "runs.json").exists())


class Recorded:
    """A copy of a recorded home, in use."""

    def __init__(self, pflow: Pflow, home: Path) -> None:
        self.pflow = pflow
        self.home = home
        self.runs: dict[str, str] = json.loads((home / "runs.json").read_text())

    def resume(self, run: str, *words: str) -> Said:
        return self.pflow("runs", "resume", self.runs[run], *words, "--json")

    @property
    def effects(self) -> list[str]:
        """What steps have done since the home was copied."""
        path = Path("effects")
        return path.read_text().split() if path.exists() else []


@pytest.fixture(params=VERSIONS)
def recorded(request: pytest.FixtureRequest, pflow: Pflow, home: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    shutil.rmtree(home)
    shutil.copytree(HERE / request.param, home)
    for path in (home, *home.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    programs = home.parent / "bin"
    programs.mkdir()
    shutil.copy(HERE / "server.py", programs / "recorded-server")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return Recorded(pflow, home)
