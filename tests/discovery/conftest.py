"""Homes to discover in: one with the built-in nodes, one with hundreds of real tools beside them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.registry.registry import Registry
from tests.discovery.recall import fill


@pytest.fixture(scope="session")
def builtin_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The registry of the built-in nodes, made once."""
    root = tmp_path_factory.mktemp("builtin")
    Registry.load(Home(root)).save()
    return root / "registry.json"


@pytest.fixture(scope="session")
def tools_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The registry of the labelled tools, made once."""
    root = tmp_path_factory.mktemp("tools")
    fill(Home(root))
    return root / "registry.json"


@pytest.fixture
def place(home: Path, builtin_file: Path) -> Home:
    """A home with the built-in nodes."""
    return _with(home, builtin_file)


@pytest.fixture
def tools(home: Path, tools_file: Path) -> Home:
    """A home with the labelled tools as well."""
    return _with(home, tools_file)


def _with(home: Path, registry: Path) -> Home:
    home.mkdir(mode=0o700)
    shutil.copy(registry, home)
    return Home(home)
