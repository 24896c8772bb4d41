"""What every observer does: takes whatever a run tells, from any thread, and never gets in its way."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from pflow.cli.progress import Progress
from pflow.core.event import (
    EVENTS,
    DoubtSettled,
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    ItemStarted,
    ModelUsed,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.file.home import Home
from pflow.engine.ports import Observer
from pflow.execution.null_output import NullOutput
from pflow.mcp_server.progress import ProgressFeed
from pflow.testing import RecordingObserver
from pflow.workspace import Workspace
from pflow.workspace.driving.begun import Begun

ERROR = {"type": "execution", "message": "no"}
TOLD: list[Event] = [
    RunStarted(workflow="", document=None, inputs={}, at=1.0),
    RunForked(step="a", at=1.0),
    RunResumed(at=1.0),
    DoubtSettled(step="a", outcome="done", at=1.0, by="ada"),
    StepStarted(step="a", node="a", definition="", inputs="", at=1.0),
    StepStarted(step="b", node="b", definition="", inputs="", at=1.0, attempt=2, items=3),
    ItemStarted(step="b", item=0),
    ItemCompleted(step="b", item=0, writes={}),
    ItemFailed(step="b", item=1, error={}, final=False),
    ItemFailed(step="b", item=1, error=ERROR),
    ItemNotYet(step="b", item=2, reason="`b.x` was 1", attempt=1, retry_in=1.0),
    StepFailed(step="a", error=ERROR, ms=0.0, retry_in=1.0),
    StepNotYet(step="a", reason="", ms=0.0, attempt=1, retry_in=1.0),
    StepFailed(step="a", error={}, ms=0.0, action="error"),
    StepCompleted(step="b", action="default", writes={}, ms=0.0, source="cache"),
    StepAsked(step="c", key="k", kind="question", at=1.0, prompt="Go on?"),
    StepAsked(step="b", key="l", kind="timer", at=1.0, item=2, deadline=2.0),
    StepAnswered(step="c", key="k", kind="question", at=1.0, outcome="declined", by="ada", via="terminal"),
    ModelUsed(step="c", at=1.0, model="one", tokens=15, cost=0.1),
    ModelUsed(step="b", at=1.0, item=2, tokens=3),
    RunEnding(status="failed", section="on_failure", at=1.0, error=ERROR),
    RunEnding(status="failed", section="finally", at=1.0, error=ERROR, scope="d/"),
    RunFailed(error={}, at=1.0),
    RunStopped(reason="interrupted", at=1.0),
    RunCancelled(at=1.0),
    RunCompleted(outputs={}, at=1.0),
]


async def send(progress: float, total: float | None, message: str) -> None:
    """Nobody listens."""


MADE: dict[str, Callable[[], Observer]] = {
    "recording": RecordingObserver,
    "null": NullOutput,
    "terminal": lambda: Progress(io.StringIO()),
    "tool": lambda: ProgressFeed(send),
    "begun": lambda: Begun(lambda: None),
}


@pytest.fixture(params=MADE)
def make(request: pytest.FixtureRequest) -> Callable[[], Observer]:
    """Makes an observer; some want a running event loop."""
    return MADE[request.param]


def test_the_events_told_here_are_all_there_are() -> None:
    assert {type(event).__name__ for event in TOLD} == set(EVENTS)


@pytest.mark.parametrize("events", [TOLD, TOLD[::-1], TOLD * 2], ids=["in order", "backwards", "twice"])
def test_whatever_is_told_it_does_not_raise(make: Callable[[], Observer], events: list[Event]) -> None:
    async def work() -> None:
        observer = make()
        for event in events:
            observer.notify("run", event)
            observer.report("run", "b[1]", "half \x1b[31m done")
            observer.report("other", "unknown", "")

    asyncio.run(work())


def test_it_may_be_told_by_another_thread(make: Callable[[], Observer]) -> None:
    async def work() -> None:
        observer = make()
        for event in TOLD:
            await asyncio.to_thread(observer.notify, "run", event)
        await asyncio.to_thread(observer.report, "run", "a", "still there")

    asyncio.run(work())


def test_a_run_goes_the_same_way_whoever_watches(make: Callable[[], Observer], home: Path) -> None:
    document = {
        "outputs": {"results": {"source": "${each.results}"}},
        "nodes": [{"id": "each", "type": "echo", "params": {"n": "${item}"}, "batch": {"items": [1, 2]}}],
    }

    async def work() -> object:
        with Workspace(Home(home), observer=make()) as workspace:
            return (await workspace.begin(document).finish()).outputs

    assert asyncio.run(work()) == {"results": [{"n": 1}, {"n": 2}]}


def test_a_recording_observer_keeps_everything_in_order(home: Path) -> None:
    observer = RecordingObserver()
    with Workspace(Home(home), observer=observer) as workspace:
        outcome = workspace.run({"nodes": [{"id": "say", "type": "echo", "params": {"text": "hi"}}]})
    assert [type(event).__name__ for run_id, event in observer.events if run_id == outcome.run_id] == [
        "RunStarted",
        "StepStarted",
        "StepCompleted",
        "RunCompleted",
    ]
    observer.report("run", "say", "half done")
    assert observer.reports == [("run", "say", "half done")]
