"""What a run sets becomes real together with the event that says so, wherever its process is killed, and once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.file.home import Home
from pflow.engine.ports import Record, Status
from pflow.workspace import Workspace
from tests.workspace.test_durability import in_child

When = Literal["before", "after", "committed"]

STATE = {
    "total": {"type": "integer", "default": 0, "merge": "add"},
    "last": {"type": "string"},
    "steps": {"type": "integer", "default": 0, "merge": "add", "commit": "step"},
}
DOCUMENT = {
    "name": "w",
    "state": STATE,
    "nodes": [
        {"id": "first", "type": "echo", "params": {"x": 1}},
        {"id": "step", "type": "state-set", "params": {"steps": 1}},
        {"id": "again", "type": "state-set", "params": {"steps": 1, "total": 2}},
        {"id": "keep", "type": "state-set", "params": {"total": 3, "last": "${run.id}"}},
        {"id": "last", "type": "echo", "params": {"x": 2}},
    ],
}


@pytest.fixture
def place(home: Path) -> Home:
    """A home whose node types are known, so that no process has to look for them."""
    with Workspace(Home(home)) as workspace:
        workspace.scan()
    return Home(home)


class Killer(SqliteJournal):
    """A journal that ends its process with SIGKILL around its nth write.

    That is just before it or just after it, both inside the transaction in which state is changed, or once that
    transaction is durable.
    """

    writes = 0
    fatal = -1
    when: When = "before"

    def append(
        self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None, **rest: Any
    ) -> None:
        self.writes += 1
        self._kill("before")
        super().append(run_id, seq, records, status, **rest)
        self._kill("after")

    @contextmanager
    def together(self) -> Iterator[None]:
        with super().together():
            yield
        self._kill("committed")

    def _kill(self, when: When) -> None:
        if self.writes == self.fatal and self.when == when:
            os.kill(os.getpid(), signal.SIGKILL)


def run_until_killed(place: Home, fatal: int, when: When) -> int:
    def work() -> None:
        journal = Killer(place.journal)
        journal.fatal, journal.when = fatal, when
        with Workspace(place, journal=journal) as workspace:
            assert workspace.run(DOCUMENT, run_id="killed").success

    return in_child(work)


@pytest.mark.parametrize("when", ["before", "after", "committed"])
def test_state_and_the_event_that_keeps_it_become_real_together(place: Home, when: When) -> None:
    kept_early = 0
    for fatal in range(1, 40):
        status = run_until_killed(place, fatal, when)
        with Workspace(place) as workspace:
            if status != 0:
                assert status == -signal.SIGKILL
                shown: Any = workspace.show_run("killed")
                done = {step["step"] for step in shown["steps"] if step["status"] == "completed"}
                values = {one.key: one.value for one in workspace.state.values("w")} if done & {"step"} else {}
                assert values.get("steps", 0) == len(done & {"step", "again"}), "a step and what it keeps"
                is_complete = shown["status"] == "completed"
                assert (values.get("total"), values.get("last")) == ((5, "killed") if is_complete else (None, None))
                kept_early += "steps" in values
                assert "in_doubt" not in [step["status"] for step in shown["steps"]]
                if not is_complete:
                    assert workspace.resume("killed").success
            values = {one.key: one.value for one in workspace.state.values("w")}
            assert values == {"total": 5, "last": "killed", "steps": 2}, "nothing is lost, nothing is set twice"
            workspace._wiring.journal.delete(["killed"])
            workspace.state.forget("w")
        if status == 0 and (when != "committed" or fatal > 20):
            break
    assert kept_early, "the process was killed where only a step had kept something"


# ---- many processes


def start(work: Callable[[], object]) -> int:
    """Do `work` in a process of its own; its id."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def exit_codes(children: Sequence[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


@pytest.mark.slow
def test_fifty_processes_that_add_one_add_fifty(place: Home) -> None:
    document = {
        "name": "w",
        "state": {
            "n": {"type": "integer", "default": 0, "merge": "add"},
            "by": {"type": "array", "default": [], "merge": "union"},
        },
        "nodes": [{"id": "keep", "type": "state-set", "params": {"n": 1, "by": ["${run.id}"]}}],
    }

    def add() -> None:
        with Workspace(place) as workspace:
            assert workspace.run(document).success

    assert exit_codes([start(add) for _ in range(50)]) == [0] * 50
    with Workspace(place) as workspace:
        assert workspace.state.get("w", "n").value == 50
        by: Any = workspace.state.get("w", "by").value
        assert sorted(by) == sorted(info.run_id for info in workspace.runs(100))


def test_of_processes_that_replace_a_value_one_wins_and_the_others_fail(place: Home, tmp_path: Path) -> None:
    """All have read the value before any of them sets it: pipes hold them until each is there."""
    racers = 6
    document = {
        "name": "w",
        "inputs": {"me": {"type": "integer"}},
        "state": {"n": {"type": "integer", "default": 0}},
        "nodes": [
            {
                "id": "meet",
                "type": "shell",
                "params": {"command": f"cd {tmp_path}; echo > here-${{me}}; cat go-${{me}}"},
            },
            {"id": "bump", "type": "let", "params": {"n": "state.n + 1"}},
            {"id": "keep", "type": "state-set", "params": {"n": "${bump.n}"}},
        ],
    }
    for me in range(racers):
        os.mkfifo(tmp_path / f"here-{me}")
        os.mkfifo(tmp_path / f"go-{me}")

    def race(me: int) -> Callable[[], None]:
        def work() -> None:
            with Workspace(place) as workspace:
                outcome = workspace.run(document, {"me": me}, run_id=f"racer-{me}")
                assert outcome.success or (outcome.error or {}).get("type") == "state_conflict"

        return work

    children = [start(race(me)) for me in range(racers)]
    for me in range(racers):
        (tmp_path / f"here-{me}").read_text()
    for me in range(racers):
        (tmp_path / f"go-{me}").write_text("go")
    assert exit_codes(children) == [0] * racers
    with Workspace(place) as workspace:
        states = {info.run_id: info.status for info in workspace.runs()}
        winners = [run for run, status in states.items() if status == "completed"]
        assert len(winners) == 1
        assert [(one.value, one.run_id) for one in workspace.state.history("w")] == [(1, winners[0])]
        for number, late in enumerate((run for run, status in states.items() if status == "failed"), 2):
            done = workspace.resume(late)
            assert (done.success, done.reused) == (True, ("meet",))
            assert workspace.state.get("w", "n").value == number
