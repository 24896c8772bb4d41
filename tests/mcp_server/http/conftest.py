"""Servers for a whole module: starting one loads the SDK, which takes most of a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.mcp_server.http.served import Client, Served


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Served]]:
    """Starts servers; they end with the module, unless a test ended them."""
    started: list[Served] = []

    def make(*words: str, **options: Any) -> Served:
        started.append(Served(tmp_path_factory.mktemp("served") / ".pflow", *words, **options))
        return started[-1]

    yield make
    for served in started:
        assert served.process.stderr is not None
        if not served.process.stderr.closed:
            served.end()


@pytest.fixture(scope="module")
def served(serve: Callable[..., Served]) -> Served:
    """A server."""
    return serve()


@pytest.fixture(scope="module", params=["modern", "legacy"])
def client(request: pytest.FixtureRequest, served: Served) -> Iterator[Client]:
    """A session with it, in each era."""
    opened = Client(served, request.param)
    yield opened
    opened.close()
