"""A registry of the built-in nodes, read once: reading all sources again for each test would take most of the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.file.atomic import write_atomic
from pflow.core.file.home import find_home
from pflow.registry.registry import Registry


@pytest.fixture(scope="session")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    home = find_home({"PFLOW_HOME": str(tmp_path_factory.mktemp("scanned"))})
    Registry.load(home)
    return home.registry.read_bytes()


@pytest.fixture
def registry(home: Path, scanned: bytes) -> Registry:
    write_atomic(home / "registry.json", scanned)
    return Registry.load(find_home())
