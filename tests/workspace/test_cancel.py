"""Cancelling runs, from the process that runs them and from others."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

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
