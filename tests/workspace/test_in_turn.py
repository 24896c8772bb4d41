"""Many servers are worked on a few at a time, and a person learns which ones are waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pflow.core.file.home import Home
from pflow.mcp.server.config import ServerConfig
from pflow.workspace import Workspace
from pflow.workspace import in_turn as module
from pflow.workspace.in_turn import MOST, in_turn
from pflow.workspace.server_report import SyncFailure

SILENT = ["sh", "-c", "cat > /dev/null"]


def servers(count: int) -> list[ServerConfig]:
    return [ServerConfig(name=f"s{number}", transport="stdio", command="x") for number in range(count)]


def test_at_most_twice_as_many_servers_as_processors_are_started_at_a_time() -> None:
    assert 2 * (os.cpu_count() or 1) == MOST
    running, most = 0, 0
    full = asyncio.Event()

    async def work(server: ServerConfig) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == MOST:
            full.set()
        await full.wait()
        running -= 1
        return server.name

    async def main() -> list[str]:
        return await in_turn(servers(3 * MOST), work)

    assert asyncio.run(main()) == [f"s{number}" for number in range(3 * MOST)]
    assert most == MOST


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_SECONDS", 0.02)
    monkeypatch.setattr(module, "_NEXT_SECONDS", 0.02)
    monkeypatch.setattr(module, "MOST", 1)
    monkeypatch.setattr("pflow.workspace.server_sync.PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr("pflow.mcp.protocol.session.LEAVE_SECONDS", 0.05)


@pytest.mark.usefixtures("impatient")
def test_servers_that_never_answer_fail_by_themselves_and_are_named_meanwhile(home: Path) -> None:
    told: list[tuple[tuple[str, ...], int]] = []

    def waiting(names: Sequence[str], left: int) -> None:
        told.append((tuple(names), left))

    with Workspace(Home(home)) as workspace:
        for name in ("one", "two"):
            workspace.servers.add(name, {"command": SILENT[0], "args": SILENT[1:], "timeout": 0.2})
        reports = workspace.servers.sync(agree=None, waiting=waiting)
    assert told[0] == (("one",), 1)
    assert (("two",), 0) in told
    messages = [report.error.message for report in reports if isinstance(report, SyncFailure)]
    assert messages == [f"server `{name}` did not answer within 0.2 s" for name in ("one", "two")]
