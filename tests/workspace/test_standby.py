"""A long-lived process keeps a worker for `code` steps at hand; what a step does is the same with and without."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pflow.core.file.home import Home
from pflow.execution.outcome import Outcome
from pflow.process.guardian import GUARDIAN
from pflow.process.standby import Standby
from pflow.workspace import Workspace

CODE = {
    "nodes": [{"id": "a", "type": "code", "params": {"code": "import os, json\nresult = [os.getpid(), os.getcwd()]"}}]
}


@pytest.fixture
def standby() -> Iterator[Standby]:
    others = set(GUARDIAN.groups)  # servers that other tests share live on
    standby = Standby()
    yield standby
    standby.close()
    assert GUARDIAN.groups == others


@pytest.fixture
def workspace(tmp_path: Path, standby: Standby) -> Iterator[Workspace]:
    with Workspace(Home(tmp_path / "home"), workers=standby) as workspace:
        yield workspace


def waiting(standby: Standby) -> list[int]:
    return [child.popen.pid for child in standby._waiting]


def run(workspace: Workspace, standby: Standby | None = None) -> Any:
    """What the code gave; with a standby, when it has been refilled."""

    async def main() -> Outcome:
        outcome = await workspace.begin(CODE, cache=False).finish()
        while standby is not None and len(waiting(standby)) < 2:
            await asyncio.sleep(0.001)
        return outcome

    outcome = asyncio.run(asyncio.wait_for(main(), 20))
    assert outcome.success, outcome.error
    return outcome.outputs["result"]


def test_the_next_step_runs_in_the_worker_that_waited(workspace: Workspace, standby: Standby) -> None:
    run(workspace, standby)
    first, second = waiting(standby)
    assert run(workspace, standby)[0] == first
    after = waiting(standby)
    assert (after[0], len(after)) == (second, 2)


def test_a_worker_that_died_while_it_waited_is_not_missed(workspace: Workspace, standby: Standby) -> None:
    run(workspace, standby)
    dead, ready = waiting(standby)
    os.killpg(dead, signal.SIGKILL)
    os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
    assert run(workspace)[0] == ready


@pytest.mark.parametrize("change", ["folder", "environment"])
def test_a_worker_that_was_started_in_other_surroundings_is_not_used(
    workspace: Workspace, standby: Standby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    run(workspace, standby)
    ready = waiting(standby)
    if change == "folder":
        monkeypatch.chdir(tmp_path)
    else:
        monkeypatch.setenv("LANG", "xx_XX.UTF-8")
    pid, folder = run(workspace, standby)
    assert pid not in ready
    assert folder == os.getcwd()
    assert not {*ready} & {*waiting(standby)}


def test_closing_leaves_no_worker_and_starts_none(workspace: Workspace, standby: Standby) -> None:
    run(workspace, standby)
    ready = waiting(standby)
    standby.close()
    for pid in ready:
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
    run(workspace)
    assert waiting(standby) == []


def test_without_a_spare_nothing_waits(tmp_path: Path) -> None:
    others = set(GUARDIAN.groups)
    with Workspace(Home(tmp_path / "home")) as workspace:
        run(workspace)
    assert GUARDIAN.groups == others
