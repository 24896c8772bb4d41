"""Nothing that was completed is lost or done twice, wherever the process is killed."""

from __future__ import annotations

import os
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import InDoubtError
from pflow.core.file.home import Home
from pflow.engine.ports import Record, Status
from pflow.workspace import Workspace

STEPS = 20

MARK_NODE = '''
"""A node with a side effect that can be counted."""
import os
from pocketflow import AsyncNode

class Mark(AsyncNode):
    """Append a line to a file.

    Interface:
    - Params: file - where
    - Params: text - what
    - Writes: shared["text"] - what was written
    """
    async def exec_async(self, _):
        fd = os.open(self.params["file"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(fd, (self.params["text"] + "\\n").encode())
        os.close(fd)

    async def post_async(self, shared, _, __):
        shared["text"] = self.params["text"]
'''


class Killer(SqliteJournal):
    """A journal that ends its process with SIGKILL, just before or just after its nth write."""

    writes = 0
    fatal = -1
    after = False

    def append(
        self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None, **rest: Any
    ) -> None:
        self.writes += 1
        if self.writes == self.fatal and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        super().append(run_id, seq, records, status, **rest)
        if self.writes == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)


def document(effects: Path) -> dict[str, Any]:
    """Twenty steps in a chain with a fan-out and a join in the middle, each with a side effect."""
    nodes = [{"id": f"s{n}", "type": "mark", "params": {"file": str(effects), "text": f"s{n}"}} for n in range(STEPS)]
    edges = [{"from": f"s{n}", "to": f"s{n + 1}"} for n in range(STEPS - 1) if n not in (9, 10)]
    edges += [{"from": "s9", "to": "s10"}, {"from": "s9", "to": "s11"}, {"from": "s10", "to": "s12"}]
    return {"name": "marks", "nodes": nodes, "edges": edges}


def in_child(work: Callable[[], object]) -> int:
    """Do `work` in a process of its own; its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture
def place(home: Path) -> Home:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "mark.py").write_text(MARK_NODE)
    return Home(home)


def run_until_killed(place: Home, effects: Path, fatal: int, *, after: bool) -> int:
    def work() -> None:
        journal = Killer(place.journal)
        journal.fatal, journal.after = fatal, after
        Workspace(place, journal=journal).run(document(effects), run_id="killed-run")

    return in_child(work)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_kill_at_every_event_boundary_of_a_run_with_side_effects(place: Home, tmp_path: Path, after: bool) -> None:
    """Every write of the journal in turn is the last thing the process does, or the first it fails to do."""
    asked = 0
    for fatal in range(1, 200):
        effects = tmp_path / f"effects-{fatal}"
        status = run_until_killed(place, effects, fatal, after=after)
        if status == 0:
            assert fatal > STEPS, "the run must have more writes than steps"
            break
        assert status == -signal.SIGKILL
        with Workspace(place) as workspace:
            before = Counter(effects.read_text().split() if effects.exists() else [])
            shown = {step["step"]: step["status"] for step in workspace.show_run("killed-run")["steps"]}  # type: ignore[attr-defined]
            completed = {step for step, state in shown.items() if state == "completed"}
            doubtful = {step for step, state in shown.items() if state == "in_doubt"}
            assert completed <= set(before), "a completed step has had its effect"
            if workspace.show_run("killed-run")["status"] == "completed":
                assert completed == {f"s{n}" for n in range(STEPS)}
            else:
                if doubtful:
                    asked += 1
                    with pytest.raises(InDoubtError) as caught:
                        workspace.resume("killed-run")
                    assert set(caught.value.details["steps"]) == doubtful  # type: ignore[call-overload]
                outcome = workspace.resume("killed-run", rerun_in_doubt=True)
                assert outcome.success, outcome.error
            counts = Counter(effects.read_text().split())
            assert set(counts) == {f"s{n}" for n in range(STEPS)}, "nothing is lost"
            for step, count in counts.items():
                assert count == 1 or (count == 2 and step in doubtful), f"{step} ran {count} times"
            workspace.close()
        with Workspace(place) as workspace:
            workspace._wiring.journal.delete(["killed-run"])
    else:
        pytest.fail("the run never got to its end")
    assert asked >= STEPS - 1


def test_a_pure_step_in_doubt_runs_again_without_asking(place: Home, tmp_path: Path) -> None:
    source = MARK_NODE.replace("class Mark", "from pflow import flow_safe\n\n@flow_safe(cache=False)\nclass Mark")
    (place.nodes / "mark.py").write_text(source)
    effects = tmp_path / "effects"
    assert run_until_killed(place, effects, 5, after=True) == -signal.SIGKILL
    with Workspace(place) as workspace:
        assert workspace.resume("killed-run").success
    assert set(effects.read_text().split()) == {f"s{n}" for n in range(STEPS)}
