"""How long a run was worked on, as its events tell."""

from __future__ import annotations

import pytest

from pflow.core.event import (
    Event,
    ItemStarted,
    RunCompleted,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepStarted,
)
from pflow.engine.ending.worked import Worked

BEGUN = (
    RunStarted(workflow="w", document={}, inputs={}, at=0.0),
    StepStarted(step="a", node="a", definition="", inputs="", at=0.0),
)
ASKED = StepAsked(step="a", key="k", kind="message", at=1.0)
END = (
    StepAnswered(step="a", key="k", kind="message", outcome="answered", at=500.0),
    StepCompleted(step="a", action="default", writes={}, ms=500_000.0),
    RunCompleted(outputs={}, at=502.0),
)


def worked(*events: Event) -> float:
    fold = Worked()
    for event in events:
        fold.note(event)
    return fold.seconds


@pytest.mark.parametrize(
    "between",
    [
        [],
        [RunStopped(reason="waiting", at=1.0), RunResumed(at=499.0)],
        [RunStopped(reason="waiting", at=1.0), RunResumed(at=2.0)],
        [
            RunStopped(reason="waiting", at=1.0),
            RunResumed(at=2.0),
            RunStopped(reason="waiting", at=400.0),
            RunResumed(at=499.0),
        ],
        [RunResumed(at=2.0), RunResumed(at=300.0)],
    ],
)
def test_a_run_that_only_waits_is_not_worked_on_whoever_has_taken_it_up(between: list[Event]) -> None:
    assert worked(*BEGUN, ASKED, *between, *END) <= 1 + 2 + 1


def test_an_item_that_goes_on_beside_one_that_waits_is_work() -> None:
    asked = StepAsked(step="a", item=0, key="k", kind="message", at=1.0)
    taken_up = (RunStopped(reason="waiting", at=1.0), RunResumed(at=10.0))
    answered = StepAnswered(step="a", item=0, key="k", kind="message", outcome="answered", at=70.0)
    assert worked(*BEGUN, asked, *taken_up, ItemStarted(step="a", item=1, at=10.0), answered) == 61.0
