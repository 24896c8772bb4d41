"""A workspace whose steps may call services on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.workspace import Workspace


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with Workspace(Home(home)) as opened:
        opened.set_setting("http.allow_hosts", "127.0.0.1")
        yield opened
