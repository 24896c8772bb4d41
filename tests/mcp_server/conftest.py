"""Servers for a whole module: starting one loads the SDK, which takes most of a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp_server.client import Client


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Client]]:
    """Starts servers, each with a home of its own unless one is given; they end with the module."""
    clients: list[Client] = []

    def make(*words: str, home: Path | None = None, **options: str) -> Client:
        found = home or tmp_path_factory.mktemp("server") / ".pflow"
        clients.append(Client(found, *words, **options))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="module", params=["modern", "legacy"])
def either(request: pytest.FixtureRequest, start: Callable[..., Client]) -> Client:
    """A server with all tools, spoken to in each era."""
    return start(era=request.param)


@pytest.fixture(scope="module")
def client(start: Callable[..., Client]) -> Client:
    """A server with all tools."""
    return start()
