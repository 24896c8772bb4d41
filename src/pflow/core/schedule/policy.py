"""What a schedule does at a moment: which due times start, wait, are skipped or given up. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Literal, NamedTuple, get_args

from pflow.core.frozen import Frozen
from pflow.core.schedule.schedule import Schedule
from pflow.core.schedule.timing import due_between

Outcome = Literal[
    "claimed",
    "queued",
    "waiting",
    "completed",
    "failed",
    "stopped",
    "cancelled",
    "interrupted",
    "damaged",
    "untold",
    "missed",
    "skipped",
    "lost",
    "refused",
]
"""What became of a due time. From `waiting` to `damaged` this is how its run is.

`claimed`: a process begins the run, or sees it through. `queued`: an earlier run goes on, and this one follows.
`untold`: the run failed, and the workflow for failures has not run yet. `missed`: nobody was there, and it is not made
up for. `skipped`: an earlier run went on. `lost`: whoever had claimed it was gone before the run began. `refused`: the
run could not begin.
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

FAILURES: tuple[Outcome, ...] = ("failed", "interrupted", "damaged")
"""Ends of runs after which the workflow for failures runs, whoever was there to see them."""

ON_TIME_SECONDS = 120.0
"""How late a start still counts as on time: whatever fires does so every minute, on machines that may be busy."""

MOST_TRIES = 3
"""How often a due time is claimed, where those who claim it keep getting lost."""

MOST_AT_ONCE = 1000
"""Due times to make up for at one look, at most; the next look goes on behind them."""

_MOST_MISSED = 100
"""Due times to record as missed, at most, the latest; those before them are as much past as they are."""

_REACH_SECONDS = 31 * 86_400.0
"""How far back to look for the latest due time before all of a longer window is gone through."""


class Known(NamedTuple):
    """What is recorded of a due time."""

    outcome: Outcome
    tries: int = 1


class Decision(Frozen):
    """Due times by what happens to them, each in order. With `cancel`, the run that goes on is ended first."""

    start: tuple[float, ...] = ()
    queue: tuple[float, ...] = ()
    skip: tuple[float, ...] = ()
    miss: tuple[float, ...] = ()
    cancel: bool = False


def decide(schedule: Schedule, known: Mapping[float, Known], now: float, *, active: bool) -> Decision:
    """What to do at `now`, given what is recorded, and whether an earlier run of the schedule goes on."""
    if schedule.paused_at is not None:
        return Decision()
    queued = sorted(due for due, one in known.items() if one.outcome == "queued")
    expired = [due for due in queued if _is_expired(schedule, due, now)]
    queued = queued[len(expired) :]
    chosen, missed = _choose(schedule, known, now)
    start, queue, skip, cancel = [], [], [], False
    busy = active
    allow = schedule.overlap == "allow"
    for due in queued:
        if allow or not busy:
            start.append(due)
        busy = True
    for due in chosen:
        if allow or not busy:
            start.append(due)
        elif schedule.overlap == "skip" and not _is_made_up(schedule, due, now):
            skip.append(due)
        else:
            queue.append(due)
            cancel = cancel or (schedule.overlap == "cancel" and active)
        busy = True
    return Decision(start=tuple(start), queue=tuple(queue), skip=tuple(skip), miss=(*expired, *missed), cancel=cancel)


def next_start(schedule: Schedule, known: Mapping[float, Known], now: float) -> float | None:
    """When the schedule starts something next; None if it is paused or has no time left."""
    if schedule.paused_at is not None:
        return None
    found: float | None = None
    for due in schedule.timing.after(max(now - schedule.jitter, schedule.since)):
        if found is not None and due >= found:
            break
        start = schedule.start_of(due)
        is_open = due not in known or known[due].outcome == "missed"
        if start > now and is_open and (found is None or start < found):
            found = start
    return found


def _choose(schedule: Schedule, known: Mapping[float, Known], now: float) -> tuple[list[float], list[float]]:
    """The due times to make something of, and those that are given up."""
    if schedule.catch_up == "all":
        return list(islice(_open(schedule, known, now, schedule.window), MOST_AT_ONCE)), []
    fresh = list(_open(schedule, known, now, min(_REACH_SECONDS, schedule.window)))
    if not fresh and schedule.window > _REACH_SECONDS:
        fresh = list(_open(schedule, known, now, schedule.window))
    chosen = [due for due in fresh if _is_on_time(schedule, due, now)]
    if schedule.catch_up == "one" and not chosen:
        chosen = fresh[-1:]
    return chosen, [due for due in fresh if due not in chosen][-_MOST_MISSED:]


def _open(schedule: Schedule, known: Mapping[float, Known], now: float, reach: float) -> Iterator[float]:
    """Due times that can start, in order: none that was dealt with, or lies before one that was.

    A look deals with all due times up to its moment at once. Only what `jitter` puts off is left for a later one.
    """
    reached = max((due for due in known if due <= now), default=now - reach)
    start = max(reached - schedule.jitter, now - reach - schedule.jitter, schedule.since)
    before = sorted(due for due, one in known.items() if due <= start and _is_open(schedule, one, due, now))
    for due in chain(before, due_between(schedule.timing, start, now)):
        begins = schedule.start_of(due)
        if now - reach <= begins <= now and _is_open(schedule, known.get(due), due, now):
            yield due


def _is_open(schedule: Schedule, known: Known | None, due: float, now: float) -> bool:
    """Whether a due time can still start.

    What was given up can if its time has not passed, as after a clock that was ahead has been set back.
    """
    if known is None:
        return True
    if known.outcome == "missed":
        return _is_on_time(schedule, due, now)
    return known.outcome == "lost" and known.tries < MOST_TRIES


def _is_on_time(schedule: Schedule, due: float, now: float) -> bool:
    return now - schedule.start_of(due) <= ON_TIME_SECONDS


def _is_made_up(schedule: Schedule, due: float, now: float) -> bool:
    """Whether all that was missed is made up for, and this was: such runs follow each other."""
    return schedule.catch_up == "all" and not _is_on_time(schedule, due, now)


def _is_expired(schedule: Schedule, due: float, now: float) -> bool:
    return now - schedule.start_of(due) > schedule.window
