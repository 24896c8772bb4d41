"""No test of MCP servers may leave a process or a file descriptor behind."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pflow.mcp.protocol.handshake import Era
from pflow.process.guardian import GUARDIAN
from tests.mcp.protocol.kit import Kit, alive


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kit]:
    monkeypatch.setattr("pflow.mcp.protocol.session.LEAVE_SECONDS", 0.2)
    monkeypatch.setattr("pflow.mcp.transport.stdio.PATIENCE", 0.2)
    kit = Kit(tmp_path)
    GUARDIAN.expect([])  # the helper that guards children holds a descriptor for good
    before, others = len(os.listdir("/dev/fd")), set(GUARDIAN.groups)  # servers that other tests share live on
    yield kit
    assert [pid for pid in kit.pids() if alive(pid)] == []
    assert GUARDIAN.groups == others
    assert len(os.listdir("/dev/fd")) == before


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> Era:
    era: Era = request.param
    return era
