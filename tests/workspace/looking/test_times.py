"""How long runs took: the time that processes worked, attempt by attempt, and not the night between two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.memory_journal import MemoryJournal
from pflow.core.event import (
    IN_DOUBT,
    Event,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from pflow.core.file.home import Home
from pflow.core.setting.redactor import Redactor
from pflow.engine.codec import encode_event
from pflow.engine.ports import Status
from pflow.engine.value import ValueTable
from pflow.workspace import Workspace

DAY = 86_400.0
ERROR = {"type": "execution", "message": "no answer"}


def nothing_large(digest: str) -> bytes:
    raise AssertionError(digest)


def workspace_with(home: Path, *events: Event, status: Status = "completed") -> Workspace:
    """A workspace whose journal holds one run, `r`, with these events."""
    table = ValueTable(Redactor({}), nothing_large)
    records = [encode_event(event, table) for event in events]
    journal = MemoryJournal()
    journal.create("r", "w", 1000.0, records[:1])
    journal.append("r", 1, records[1:], status)
    return Workspace(Home(home), journal=journal)


def begin(at: float, attempt: int = 1) -> StepStarted:
    return StepStarted(step="a", node="a", definition="d", inputs="i", at=at, attempt=attempt)


def test_a_resume_tomorrow_does_not_count_the_night(home: Path) -> None:
    with workspace_with(
        home,
        RunStarted(workflow="w", document={}, inputs={}, at=1000.0),
        begin(1000.0),
        StepFailed(step="a", error=ERROR, ms=2000.0),
        RunFailed(error=ERROR, at=1002.0),
        RunResumed(at=1000.0 + DAY),
        begin(1000.0 + DAY),
        StepCompleted(step="a", action="default", writes={"x": 1}, ms=4000.0),
        RunCompleted(outputs={"x": 1}, at=1004.0 + DAY),
    ) as workspace:
        shown: Any = workspace.show_run("r")
        assert (shown["duration_ms"], shown["waited_ms"]) == (6000.0, (DAY - 2) * 1000)
        assert workspace.worked(workspace.runs()) == {"r": 6.0}
        [step] = shown["steps"]
        assert [(one["status"], one["ms"]) for one in step["attempts"]] == [("failed", 2000.0), ("completed", 4000.0)]


def test_each_attempt_is_told_with_its_time_and_its_error(home: Path) -> None:
    with workspace_with(
        home,
        RunStarted(workflow="w", document={}, inputs={}, at=1000.0),
        begin(1000.0),
        StepFailed(step="a", error=ERROR, ms=500.0, retry_in=3.0),
        begin(1003.5, attempt=2),
        StepCompleted(step="a", action="default", writes={}, ms=3750.0),  # since the first attempt began
        RunCompleted(outputs={}, at=1003.75),
    ) as workspace:
        step: Any = workspace.trace("r", step="a")
        assert step["attempts"] == [
            {"attempt": 1, "started_at": 1000.0, "status": "failed", "ms": 500.0, "error": ERROR, "retry_in": 3.0},
            {"attempt": 2, "started_at": 1003.5, "status": "completed", "ms": 250.0},
        ]
        shown: Any = workspace.show_run("r")
        assert shown["duration_ms"] == 3750.0


def test_the_time_that_a_run_waited_is_told_apart(home: Path) -> None:
    with workspace_with(
        home,
        RunStarted(workflow="w", document={}, inputs={}, at=1000.0),
        begin(1000.0),
        StepAsked(step="a", key="k", kind="question", at=1001.0, prompt="Go on?"),
        StepAnswered(step="a", key="k", kind="question", at=1601.0, waited=600.0),
        StepCompleted(step="a", action="yes", writes={}, ms=601_000.0),
        RunCompleted(outputs={}, at=1601.0),
    ) as workspace:
        shown: Any = workspace.show_run("r")
        assert shown["duration_ms"] + shown["waited_ms"] == 601_000.0
        assert shown["waited_ms"] == 600_000.0


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (RunStopped(reason=IN_DOUBT, at=1000.0 + DAY), "stopped"),
        (RunCancelled(at=1000.0 + DAY, orphaned=True), "cancelled"),
    ],
)
def test_what_is_said_of_a_run_whose_process_was_killed_is_no_work(home: Path, last: Event, status: Status) -> None:
    started = RunStarted(workflow="w", document={}, inputs={}, at=1000.0)
    with workspace_with(home, started, begin(1002.0), last, status=status) as workspace:
        shown: Any = workspace.show_run("r")
        assert (shown["status"], shown["duration_ms"]) == (status, 2000.0)
        assert "orphaned" not in shown
        assert workspace.worked(workspace.runs()) == {"r": 2.0}
        assert workspace.viewing.follow("r").whole()["duration_ms"] == 2000.0
