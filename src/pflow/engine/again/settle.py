"""Settles doubts: someone who knows what became of a step that was cut off says so, and the run goes on with that."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from pflow.core.advice import Advice
from pflow.core.errors import InDoubtError, PflowError, RunError, UsageError
from pflow.core.event import (
    IN_DOUBT,
    DoubtSettled,
    Event,
    ItemCompleted,
    RunStopped,
    Settlement,
    StepCompleted,
)
from pflow.core.frozen import Frozen
from pflow.core.suggest import did_you_mean
from pflow.engine.again.name import find_node, split_item
from pflow.engine.history import History, in_doubt
from pflow.engine.plan import Plan
from pflow.engine.run import Run

_MOST_SHOWN = 3


class Verdict(Frozen):
    """What became of a step or item in doubt. If it took effect, it has these outputs, and ended with `action`."""

    step: str
    outcome: Settlement
    outputs: Mapping[str, object] = {}
    action: str = "default"


def doubt_error(run_id: str, doubts: Sequence[str]) -> InDoubtError:
    """The error that asks what became of steps in doubt, with what to do about them, in the order to consider it."""
    count = "1 step was" if len(doubts) == 1 else f"{len(doubts)} steps were"
    named = [Advice("{settle_done}   if it took effect", run=run_id, step=step) for step in doubts[:_MOST_SHOWN]]
    again = Advice("{settle_rerun}   to run only that one again", run=run_id, step=doubts[0])
    return InDoubtError(
        f"{count} in flight when the run was cut off, and may or may not have taken effect: "
        + ", ".join(f"`{step}`" for step in doubts),
        details={"steps": list(doubts), "run_id": run_id},
        suggestions=[*named, again, Advice("{resume_in_doubt}   to run them again", run=run_id)],
    )


def find_doubts(run_id: str, plan: Plan, history: History, words: Sequence[str]) -> list[str]:
    """The steps and items in doubt that words mean; that of a batch or a sub-workflow means all inside of it.

    Raises `UsageError` for one that is not in doubt, and `RunError` for a run that is over.
    """
    if history.finished or history.cancelled:
        state = "cancelled" if history.cancelled else "complete"
        raise RunError(f"run `{run_id}` is {state}; no step of it is in doubt")
    doubts = in_doubt(plan, history)
    if not doubts:
        raise UsageError(
            f"no step of run `{run_id}` is in doubt", suggestions=[Advice("{resume}   to go on with it", run=run_id)]
        )
    found: list[str] = []
    for word in words:
        meant = [step for step in doubts if step == word or step.startswith((f"{word}[", f"{word}/"))]
        if not meant:
            raise _not_in_doubt(run_id, plan, history, word, doubts)
        found += meant
    return list(dict.fromkeys(found))


def settle_doubts(run: Run, plan: Plan, verdicts: Sequence[Verdict], by: str) -> list[str]:
    """Record what became of steps in doubt of a run that nobody runs; returns those that are still in doubt."""
    steps = [verdict.step for verdict in verdicts]
    run.seq = run.shared.journal.claim(run.run_id)
    try:
        run.history = run.recall()
        find_doubts(run.run_id, plan, run.history, steps)  # another process may have gone on with it since
        now = time.time()
        events = [event for verdict in verdicts for event in _events(verdict, by, now)]
        run.emit(*events, RunStopped(reason=IN_DOUBT, at=now), status="stopped")
    except PflowError:
        run.let_go()
        raise
    return [step for step in in_doubt(plan, run.history) if step not in steps]


def _events(verdict: Verdict, by: str, at: float) -> Iterator[Event]:
    yield DoubtSettled(step=verdict.step, outcome=verdict.outcome, at=at, by=by)
    if verdict.outcome == "rerun":
        return
    step, item = split_item(verdict.step)
    if item is not None:
        yield ItemCompleted(step=step, item=item, writes=verdict.outputs, at=at)
    else:
        yield StepCompleted(step=step, action=verdict.action, writes=verdict.outputs, ms=0.0, source="settled")


def _not_in_doubt(run_id: str, plan: Plan, history: History, word: str, doubts: Sequence[str]) -> UsageError:
    step, item = split_item(word)
    known = step in history.past and (item is None or item in history.items.get(step, {}))
    there = f"in doubt: {', '.join(f'`{name}`' for name in doubts)}"
    if known and find_node(plan, word) is not None:
        return UsageError(f"`{word}` of run `{run_id}` is not in doubt", suggestions=[there])
    guess = did_you_mean(word, doubts)
    return UsageError(f"run `{run_id}` has no step `{word}`", suggestions=[*filter(None, [guess]), there])
