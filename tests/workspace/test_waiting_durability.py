"""A run that asks, waits, chooses, goes through items and keeps state is killed wherever it stores something.

Nothing is lost, nothing happens twice, no question is lost: whoever knows what became of a step that was cut off says
so, and every effect is there exactly once in the end.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import InDoubtError
from pflow.core.event import StepAnswered, StepAsked
from pflow.core.file.home import Home
from pflow.engine.codec import decode_event
from pflow.engine.ports import Mail, Record, Status
from pflow.engine.value import ShownValues
from pflow.workspace import Workspace
from tests.workspace.test_durability import MARK_NODE, in_child

EFFECTS = ("draft", "one", "two", "three", "deploy", "sent")
KEPT = {"early": 2, "total": 5, "answer": "yes"}


class Killer(SqliteJournal):
    """A journal that ends its process with SIGKILL at one of the points around its writes.

    Those are just before and just after each write of any kind, and the end of each transaction that holds several.
    """

    points = 0
    fatal = -1

    def _pass(self) -> None:
        self.points += 1
        if self.points == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def _around(self) -> Iterator[None]:
        self._pass()
        yield
        self._pass()

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        with self._around():
            super().create(run_id, workflow, started_at, records, ticket=ticket)

    def append(
        self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None, **rest: Any
    ) -> None:
        with self._around():
            super().append(run_id, seq, records, status, **rest)

    def deliver(self, run_id: str, mail: Mail) -> bool:
        with self._around():
            return super().deliver(run_id, mail)

    def claim(self, run_id: str, ticket: int = 0) -> int:
        with self._around():
            return super().claim(run_id, ticket)

    @contextmanager
    def together(self) -> Iterator[None]:
        with super().together():
            yield
        self._pass()


def document(effects: Path) -> dict[str, Any]:
    def mark(name: str, text: str = "", **more: Any) -> dict[str, Any]:
        return {"id": name, "type": "mark", "params": {"file": str(effects), "text": text or name}, **more}

    def keep(name: str, **values: object) -> dict[str, Any]:
        return {"id": name, "type": "state-set", "params": values}

    return {
        "name": "waits",
        "state": {
            "early": {"type": "integer", "default": 0, "merge": "add", "commit": "step"},
            "total": {"type": "integer", "default": 0, "merge": "add"},
            "answer": {"type": "string", "default": ""},
        },
        "nodes": [
            mark("draft"),
            keep("begin", early=1, total=2),
            {"id": "review", "type": "ask", "params": {"prompt": "Good?", "choices": ["yes", "no"]}},
            {"id": "pause", "type": "wait", "params": {"for": 0.001}},
            {
                "id": "way",
                "type": "switch",
                "params": {"cases": {"go": "review.choice == 'yes'"}},
                "on": {"else": "end"},
            },
            mark(
                "each",
                "${item}",
                batch={"items": ["one", "two", "three"], "concurrency": 2},
                approve={"prompt": "Mark ${item}?"},
            ),
            keep("between", early=1, total=3, answer="${review.choice}"),
            {"id": "paid", "type": "wait", "params": {"message": "paid"}},
            mark("deploy", approve=True),
            mark("sent"),
        ],
        "edges": [{"from": "way", "to": "each", "action": "go"}],
    }


def drive(workspace: Workspace, effects: Path | None) -> str:
    """Run it to its end, or go on with it, and answer whatever it asks on the way."""
    outcome = workspace.resume("waits") if effects is None else workspace.run(document(effects), run_id="waits")
    while outcome.status == "waiting":
        for one in workspace.waiting("waits"):
            if one.kind == "question":
                workspace.answer("waits", one.place, "yes")
            elif one.kind == "message":
                workspace.send("waits", "paid", {"sum": 5})
        outcome = workspace.resume("waits")
    return outcome.status


def settle(workspace: Workspace, doubts: Sequence[str], effects: Path) -> None:
    """Say of steps in doubt what became of them, as somebody can who looks at what they do."""
    done = effects.read_text().split() if effects.exists() else []
    texts = {"each[0]": "one", "each[1]": "two", "each[2]": "three"}
    for name in doubts:
        text = texts.get(name, name)
        if text in done:
            workspace.again.settle("waits", [name], "done", outputs={"text": text})
        else:
            workspace.again.settle("waits", [name], "rerun")


def recorded(workspace: Workspace) -> list[Any]:
    return [decode_event(record, ShownValues()) for record in workspace._wiring.journal.read("waits")]


def check_after_death(workspace: Workspace, effects: Path) -> None:
    """What is left of a run whose process was killed is whole, and becomes what it would have been."""
    journal = workspace._wiring.journal
    if not any(info.run_id == "waits" for info in workspace.runs()):
        assert not effects.exists(), "what never began did nothing"
        assert drive(workspace, effects) == "completed"
        return
    asked = {event.key for event in recorded(workspace) if isinstance(event, StepAsked)}
    answered = {event.key for event in recorded(workspace) if isinstance(event, StepAnswered)}
    delivered = {mail.key for mail in journal.mail("waits")}
    shown: Any = workspace.show_run("waits")
    is_complete = shown["status"] == "completed"
    open_now = {one.key for one in workspace.waiting("waits")}
    assert open_now == (set() if is_complete else asked - answered - delivered), "no question is lost"
    kept = {one.key: one.value for one in workspace.state.values("waits")} if "begin" in steps_done(shown) else {}
    assert kept.get("early", 0) == len(steps_done(shown) & {"begin", "between"}), "a step and what it keeps"
    assert ("total" in kept, "answer" in kept) == (is_complete, is_complete), "a run and what it keeps"
    if not is_complete:
        try:
            status = drive(workspace, None)
        except InDoubtError as doubt:
            doubts: Any = doubt.details["steps"]
            settle(workspace, doubts, effects)
            status = drive(workspace, None)
        assert status == "completed"


def steps_done(shown: Any) -> set[str]:
    return {step["step"] for step in shown["steps"] if step["status"] == "completed"}


@pytest.fixture
def place(home: Path) -> Home:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "mark.py").write_text(MARK_NODE)
    with Workspace(Home(home)) as workspace:
        workspace.scan()
    return Home(home)


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "every"])
def test_a_run_that_asks_waits_and_remembers_is_killed_wherever_it_stores_something(
    place: Home, tmp_path: Path, stride: int
) -> None:
    deaths = 0
    for fatal in range(1, 600, stride):
        effects = tmp_path / f"effects-{fatal}"

        def work(fatal: int = fatal, effects: Path = effects) -> None:
            journal = Killer(place.journal)
            journal.fatal = fatal
            assert drive(Workspace(place, journal=journal), effects) == "completed"

        status = in_child(work)
        with Workspace(place) as workspace:
            if status != 0:
                assert status == -signal.SIGKILL
                check_after_death(workspace, effects)
                deaths += 1
            assert Counter(effects.read_text().split()) == Counter(EFFECTS), "nothing is lost, nothing happens twice"
            asked = Counter(event.key for event in recorded(workspace) if isinstance(event, StepAsked))
            answered = Counter(event.key for event in recorded(workspace) if isinstance(event, StepAnswered))
            assert asked == answered
            assert (len(asked), set(asked.values())) == (7, {1}), "every question is asked once, and answered"
            assert {one.key: one.value for one in workspace.state.values("waits")} == KEPT
            workspace._wiring.journal.delete(["waits"])
            workspace.state.forget("waits")
        if status == 0:
            break
    else:
        pytest.fail("the run never got to its end")
    assert deaths > 100 // stride


def test_an_item_that_is_cut_off_after_its_approval_is_in_doubt(place: Home) -> None:
    kill = {"id": "each", "type": "shell", "params": {"command": "kill -9 $PPID; exit ${item}"}, "approve": True}
    with Workspace(place) as workspace:
        workspace.run({"nodes": [{**kill, "batch": {"items": [0]}}]}, run_id="cut")
        workspace.answer("cut", choice="yes")
        assert in_child(lambda: Workspace(place).resume("cut")) == -signal.SIGKILL

    def go_on() -> None:
        with pytest.raises(InDoubtError) as doubt:
            Workspace(place).resume("cut")
        assert doubt.value.details["steps"] == ["each[0]"]

    assert in_child(go_on) == 0
