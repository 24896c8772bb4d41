"""Followers of a run hear all of it, also what is stored while they look."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pflow.adapters.memory_journal import MemoryJournal
from pflow.core.event import Event, RunCompleted, RunStarted
from pflow.core.setting.redactor import Redactor
from pflow.engine.codec import encode_event
from pflow.engine.ports import Record, RunInfo
from pflow.engine.value import ValueTable
from pflow.execution.past.follow import follow

STARTED = RunStarted(workflow="w", document={}, inputs={}, at=1000.0)
COMPLETED = RunCompleted(outputs={}, at=1001.0)


class Observed(MemoryJournal):
    """A journal in which something happens behind a look at it."""

    def __init__(self, look: str, then: Callable[[], None]) -> None:
        super().__init__()
        self._look = look
        self._then = then

    def version(self) -> str:
        found = super().version()
        if self._look == "version":
            self._then()
        return found

    def info(self, run_id: str) -> RunInfo:
        found = super().info(run_id)
        if self._look == "info":
            self._then()
        return found


def recorded(event: Event) -> Record:
    return encode_event(event, ValueTable(Redactor({}), lambda digest: b""))


@pytest.mark.parametrize("look", ["version", "info"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_the_end_is_heard_whatever_was_looked_at_just_before_it(tmp_path: Path, look: str, before: int) -> None:
    looks = 0

    def end() -> None:
        nonlocal looks
        looks += 1
        if looks == before:
            journal.append("r", 1, [recorded(COMPLETED)], "completed")

    journal = Observed(look, end)
    journal.create("r", "w", 1000.0, [recorded(STARTED)])
    assert [*follow(journal, tmp_path, "r", pause=lambda _: None)] == [STARTED, COMPLETED]
