"""No test of servers over HTTP may leave a file descriptor behind."""

import os
from collections.abc import Iterator

import pytest

from pflow.mcp.protocol.handshake import Era
from tests.mcp.transport.kit import Kit


@pytest.fixture
def kit() -> Iterator[Kit]:
    before = len(os.listdir("/dev/fd"))
    yield Kit()
    assert len(os.listdir("/dev/fd")) == before


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era


@pytest.fixture(params=["json", "sse"])
def style(request: pytest.FixtureRequest) -> str:
    style: str = request.param
    return style
