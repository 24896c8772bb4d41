"""Many calls at once, and a client that is slow to read: everyone is answered, and nothing grows without bound."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.mcp_server.client import Client
from tests.mcp_server.raw import Raw


@pytest.fixture
def slow(home: Path) -> Iterator[Raw]:
    raw = Raw(home)
    try:
        raw.meet()
        yield raw
    finally:
        raw.kill()


def memory(pid: int) -> int:
    """Kilobytes that a process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_client_that_does_not_read_makes_the_server_wait_not_grow(slow: Raw) -> None:
    slow.call(0, "registry_list", {})
    assert slow.receive()["id"] == 0
    before = memory(slow.process.pid)
    for number in range(1, 401):
        slow.call(number, "registry_describe", {"nodes": ["shell", "http", "code", "github", "git-log", "git-commit"]})
    answered = set()
    grown = memory(slow.process.pid) - before
    for _ in range(400):
        answer = slow.receive()
        assert len(answer["result"]["structuredContent"]["data"]["nodes"]) == 6
        answered.add(answer["id"])
    assert answered == set(range(1, 401))
    assert grown < 100_000


@pytest.mark.slow
def test_short_calls_are_answered_while_many_runs_wait(start: Callable[..., Client], tmp_path: Path) -> None:
    client = start()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    waits = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": f"read line < {fifo}"}}]}
    checks = {"nodes": [{"id": "a", "type": "echo"}]}

    async def work() -> None:
        runs = [asyncio.create_task(client.ask("workflow_execute", {"workflow": waits})) for _ in range(40)]
        answers = await asyncio.gather(
            *(client.ask("workflow_validate", {"workflow": checks}) for _ in range(60)),
            *(client.ask("workflow_execute", {"workflow": checks}) for _ in range(60)),
            *(client.ask("registry_search", {"pattern": "file"}) for _ in range(40)),
        )
        assert all(answer.envelope["success"] for answer in answers)
        assert not any(run.done() for run in runs)
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        assert (await client.ask("workflow_execute", {"workflow": checks})).envelope["success"] is True

    client.wait(work())
