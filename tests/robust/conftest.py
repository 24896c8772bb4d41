"""Homes for these tests: one that was lived in, made once and copied."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace

TOKEN = "tok-9f8e7d6c5b4a39281706"

GREET = {
    "name": "greet",
    "inputs": {"who": {"type": "string", "default": "you"}},
    "nodes": [{"id": "hello", "type": "echo", "params": {"text": "hello ${who}"}}],
}


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where nothing waits for a disk: that a disk keeps what was synced is not what these tests are about."""


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """The test's own folder."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a credential, an option, a saved workflow, a draft and three runs; not to be changed."""
    folder = tmp_path_factory.mktemp("pattern") / ".pflow"
    with Workspace(Home(folder), environ={}) as workspace:
        workspace.set_setting("SERVICE_TOKEN", TOKEN)
        workspace.set_setting("trace.keep_days", "9")
        workspace.save(GREET, "greet")
        workspace.save(GREET, "sketch", draft=True)
        for who in ("ada", "bob", "cy"):
            assert workspace.run("greet", {"who": who}).success
    return folder


@pytest.fixture
def lived_in(pattern: Path, home: Path) -> Path:
    """`PFLOW_HOME`, lived in."""
    shutil.copytree(pattern, home)
    return home
