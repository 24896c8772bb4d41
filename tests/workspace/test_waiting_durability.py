"""A run that asks, waits, chooses and goes through items loses nothing and repeats nothing, wherever it is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.event import StepAnswered, StepAsked
from pflow.core.file.home import Home
from pflow.engine.codec import decode_event
from pflow.engine.ports import Mail, Record, Status
from pflow.engine.value import ShownValues
from pflow.workspace import Workspace
from tests.workspace.test_durability import MARK_NODE, in_child

EFFECTS = ("draft", "one", "two", "three", "deploy", "sent")


class Killer(SqliteJournal):
    """A journal that ends its process with SIGKILL, just before or just after its nth write of any kind."""

    writes = 0
    fatal = -1
    after = False

    def _count(self, after: bool) -> None:
        self.writes += not after
        if self.writes == self.fatal and self.after == after:
            os.kill(os.getpid(), signal.SIGKILL)

    def append(
        self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None, **rest: Any
    ) -> None:
        self._count(after=False)
        super().append(run_id, seq, records, status, **rest)
        self._count(after=True)

    def deliver(self, run_id: str, mail: Mail) -> bool:
        self._count(after=False)
        delivered = super().deliver(run_id, mail)
        self._count(after=True)
        return delivered

    def claim(self, run_id: str, ticket: int = 0) -> int:
        self._count(after=False)
        following = super().claim(run_id, ticket)
        self._count(after=True)
        return following


def document(effects: Path) -> dict[str, Any]:
    def mark(name: str, text: str = "", **more: Any) -> dict[str, Any]:
        return {"id": name, "type": "mark", "params": {"file": str(effects), "text": text or name}, **more}

    return {
        "name": "waits",
        "nodes": [
            mark("draft"),
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
            {"id": "paid", "type": "wait", "params": {"message": "paid"}},
            mark("deploy", approve=True),
            mark("sent"),
        ],
        "edges": [{"from": "way", "to": "each", "action": "go"}],
    }


def drive(workspace: Workspace, effects: Path | None, *, rerun_in_doubt: bool = False) -> str:
    """Run it to its end, and answer whatever it asks on the way."""
    outcome = (
        workspace.run(document(effects), run_id="waits")
        if effects is not None
        else workspace.resume("waits", rerun_in_doubt=rerun_in_doubt)
    )
    while outcome.status == "waiting":
        for one in workspace.waiting("waits"):
            if one.kind == "question":
                workspace.answer("waits", one.place, "yes")
            elif one.kind == "message":
                workspace.send("waits", "paid", {"sum": 5})
        outcome = workspace.resume("waits", rerun_in_doubt=rerun_in_doubt)
    return outcome.status


def recorded(workspace: Workspace) -> list[Any]:
    return [decode_event(record, ShownValues()) for record in workspace._wiring.journal.read("waits")]


@pytest.fixture
def place(home: Path) -> Home:
    (home / "nodes").mkdir(parents=True)
    (home / "nodes" / "mark.py").write_text(MARK_NODE)
    return Home(home)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_kill_at_every_write_of_a_run_that_asks_and_waits(place: Home, tmp_path: Path, after: bool) -> None:
    for fatal in range(1, 200):
        effects = tmp_path / f"effects-{fatal}"

        def work(fatal: int = fatal, effects: Path = effects) -> None:
            journal = Killer(place.journal)
            journal.fatal, journal.after = fatal, after
            drive(Workspace(place, journal=journal), effects)

        status = in_child(work)
        with Workspace(place) as workspace:
            if status == 0:
                assert fatal > len(EFFECTS) * 2
                break
            assert status == -signal.SIGKILL
            steps: Any = workspace.show_run("waits")["steps"]
            doubtful = any(step["status"] == "in_doubt" for step in steps)
            if workspace.show_run("waits")["status"] != "completed":
                assert drive(workspace, None, rerun_in_doubt=True) == "completed"
            counts = Counter(effects.read_text().split())
            assert set(counts) == set(EFFECTS), "nothing is lost"
            assert sum(counts.values()) <= len(EFFECTS) + (2 if doubtful else 0), counts
            asked = Counter(event.key for event in recorded(workspace) if isinstance(event, StepAsked))
            answered = Counter(event.key for event in recorded(workspace) if isinstance(event, StepAnswered))
            assert asked == answered
            assert set(asked.values()) == {1}, "no question is lost or asked twice"
            workspace._wiring.journal.delete(["waits"])
    else:
        pytest.fail("the run never got to its end")
