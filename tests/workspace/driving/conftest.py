"""A scene for each test, with a home whose node types are known already."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.registry.registry import Registry
from tests.workspace.driving.scene import Scene


@pytest.fixture(scope="session")
def registry_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node types, found once."""
    root = tmp_path_factory.mktemp("registry")
    Registry.load(Home(root)).save()
    return root / "registry.json"


@pytest.fixture
def scene(tmp_path: Path, home: Path, registry_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A folder, which is the current directory, and a home; nothing outlives the test."""
    home.mkdir(mode=0o700)
    shutil.copy(registry_file, home)
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    made = Scene(folder, home)
    yield made
    made.close()
