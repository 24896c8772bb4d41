"""Servers for many tests: starting one loads the SDK, which takes most of a second.

`client` and `either` are shared by all modules; who needs a home to itself starts its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp_server.client import Client
from tests.mcp_server.raw import Raw


def _starting(folders: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def make(*words: str, home: Path | None = None, **options: str) -> Client:
        found = home or folders.mktemp("server") / ".pflow"
        clients.append(Client(found, *words, **options))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    """Starts servers, each with a home of its own unless one is given; they end with the module."""
    yield from _starting(tmp_path_factory)


@pytest.fixture(scope="session")
def start_shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    """Starts servers that end with the session."""
    yield from _starting(tmp_path_factory)


@pytest.fixture(scope="session", params=["modern", "legacy"])
def either(request: pytest.FixtureRequest, start_shared: Callable[..., Client]) -> Client:
    """A server with all tools, spoken to in each era."""
    return start_shared(era=request.param)


@pytest.fixture(scope="session")
def client(start_shared: Callable[..., Client]) -> Client:
    """A server with all tools."""
    return start_shared()


@pytest.fixture
def raw(home: Path) -> Iterator[Callable[..., Raw]]:
    """Starts servers whose messages a test writes and reads itself."""
    made: list[Raw] = []

    def make(*words: str) -> Raw:
        made.append(Raw(home, *words))
        return made[-1]

    yield make
    for server in made:
        server.kill()
