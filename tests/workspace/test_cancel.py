"""Cancelling runs, from the process that runs them and from others."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow.core.event import Event, RunStopped, StepAsked
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from pflow.workspace.warm_workspace import WarmWorkspaces


def test_of_many_runs_in_one_process_the_one_that_is_meant_is_cancelled(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    document = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": f"cat {tmp_path / 'fifo'}"}}]}

    async def work() -> list[str]:
        warm = WarmWorkspaces(Home(home))
        runs = [warm.open().begin(document) for _ in range(5)]
        tasks = [asyncio.create_task(run.finish()) for run in runs]
        with Workspace(Home(home)) as other:
            for run in runs[1:4]:
                while not await asyncio.to_thread(_is_begun, other, run.run_id):
                    pass
                assert other.cancel(run.run_id) == "requested"
        async with asyncio.timeout(30):
            await asyncio.gather(*tasks[1:4])
        for run in runs:
            run.stop()
        found = [outcome.status for outcome in await asyncio.gather(*tasks)]
        await warm.disconnect()
        warm.close()
        return found

    assert asyncio.run(work()) == ["stopped", *["cancelled"] * 3, "stopped"]


def _is_begun(workspace: Workspace, run_id: str) -> bool:
    return bool(workspace.find_runs(run_id)) and bool(workspace.show_run(run_id)["steps"])


def test_who_cancels_a_run_that_nobody_runs_hears_that_its_last_steps_did_not_run(home: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    document = {
        "nodes": [
            {"id": "wait", "type": "shell", "params": {"command": f"cat {tmp_path / 'fifo'}"}},
            {"id": "last", "type": "write-file", "params": {"path": "last", "content": "x"}},
        ],
        "finally": "last",
    }

    async def stopped() -> str:
        warm = WarmWorkspaces(Home(home))
        run = warm.open().begin(document)
        task = asyncio.create_task(run.finish())
        with Workspace(Home(home)) as other:
            while not await asyncio.to_thread(_is_begun, other, run.run_id):
                pass
        run.stop()
        assert (await task).status == "stopped"
        await warm.disconnect()
        warm.close()
        return run.run_id

    run_id = asyncio.run(stopped())
    with Workspace(Home(home)) as workspace:
        assert workspace.cancel(run_id) == "cancelled"
        assert "the steps of `finally` did not run: no process was running the run" in workspace.notices


class Watching:
    """Tells of events as they happen."""

    def __init__(self, tell: Callable[[str, Event], None]) -> None:
        self.notify = tell

    def report(self, run_id: str, step: str, message: str) -> None:
        """Nobody listens."""


@pytest.mark.parametrize("moment", [StepAsked, RunStopped])
def test_a_request_that_comes_as_the_run_goes_to_rest_is_not_lost(home: Path, tmp_path: Path, moment: type) -> None:
    last = {"id": "last", "type": "write-file", "params": {"path": str(tmp_path / "last"), "content": "x"}}
    asks = {"id": "ask", "type": "ask", "params": {"prompt": "Go on?", "choices": ["go"]}}
    inner = {"id": "sub", "type": "workflow", "params": {"workflow": {"nodes": [asks]}}}
    said: list[str] = []

    def cancel(run_id: str, event: Event) -> None:
        if isinstance(event, moment):
            said.append(other.cancel(run_id))

    with Workspace(Home(home)) as other, Workspace(Home(home), observer=Watching(cancel)) as workspace:
        workspace.run({"nodes": [inner, last], "finally": "last"})
        assert said == ["requested" if moment is StepAsked else "cancelled"]
        assert workspace.runs()[0].status == "cancelled"
    assert (tmp_path / "last").read_text() == "x"
