"""Looks at schedules at a moment: settles what has ended, and claims what is due. Starts nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pflow.core.clock import now
from pflow.core.errors import CorruptError, NotFoundError, PflowError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.schedule.policy import FAILURES, MOST_TRIES, OUTCOMES, Decision, Known, Outcome, decide, next_start
from pflow.core.schedule.schedule import Schedule, decode_schedule
from pflow.engine.executor import new_run_id
from pflow.engine.ports import OPEN, Journal, RunInfo, Schedules, Tick
from pflow.workspace.schedule.report import Last, ScheduleView, TickItem

NOTES: dict[Outcome, str] = {
    "missed": "nothing was there to start it in time",
    "skipped": "an earlier run of the schedule went on",
    "lost": "the process that was to run it was gone before the run began",
}
"""Why there is no run, in words."""

_MOST_LATEST = 200
"""Due times to look at for the last one that came to something; before it there may be many that were missed."""


class Claim(Frozen):
    """A due time that this process is to start, and its schedule."""

    schedule: Schedule
    tick: Tick


class Looked(Frozen):
    """What is to be started, and what became of other due times."""

    claims: tuple[Claim, ...] = ()
    items: tuple[TickItem, ...] = ()


class Lookout:
    """The schedules of a home as they are now. `cancel` ends a run, whichever process has it."""

    def __init__(self, schedules: Schedules, journal: Journal, cancel: Callable[[str], str]) -> None:
        self._schedules = schedules
        self._journal = journal
        self._cancel = cancel

    def schedules(self) -> tuple[list[Schedule], list[TickItem]]:
        """Every schedule, and an item for each that cannot be read."""
        found, broken = [], []
        for name, data in self._schedules.all().items():
            try:
                found.append(decode_schedule(data))
            except CorruptError as error:
                broken.append(TickItem(state="refused", schedule=name, note=error.message))
        return found, broken

    def look(self) -> Looked:
        """Settle and claim, for every schedule."""
        schedules, items = self.schedules()
        claims: list[Claim] = []
        for schedule in schedules:
            try:
                found = self._look_at(schedule)
            except UsageError as error:  # its times cannot be worked out here
                found = Looked(items=(TickItem(state="refused", schedule=schedule.name, note=error.message),))
            claims += found.claims
            items += found.items
        return Looked(claims=tuple(claims), items=tuple(items))

    def view(self, schedule: Schedule) -> ScheduleView:
        """One schedule as lists show it."""
        at = now()
        known = self._known(schedule, at)
        next_at, problem = _next_start(schedule, known, at)
        latest = self._schedules.ticks(schedule.name, limit=_MOST_LATEST)
        told = (tick for tick in latest if tick.outcome not in ("missed", "queued"))
        last = max(told, key=lambda tick: tick.at, default=None)
        return ScheduleView(
            schedule=schedule,
            next_at=next_at,
            problem=problem,
            last=None if last is None else self._last(last),
            queued=sum(tick.outcome == "queued" for tick in known.values()),
        )

    def next_at(self) -> float | None:
        """When a schedule starts something next."""
        at = now()
        schedules, _ = self.schedules()
        starts = (_next_start(schedule, self._known(schedule, at), at)[0] for schedule in schedules)
        return min((start for start in starts if start is not None), default=None)

    def settle(self, tick: Tick, schedule: Schedule) -> Tick:
        """A due time as it is by now: what its process could not record any more is recorded."""
        if tick.outcome not in ("claimed", "waiting") or tick.alive:
            return tick
        outcome = self._outcome(tick)
        if outcome == tick.outcome:
            return tick
        if outcome in FAILURES and schedule.on_failure and tick.tries < MOST_TRIES:
            outcome = "untold"
        changed = tick._replace(outcome=outcome, at=now(), note=NOTES.get(outcome, ""))
        return changed if self._schedules.put(changed, tick) else tick

    def item(self, tick: Tick) -> TickItem:
        """What a report says of a due time."""
        state = self._outcome(tick) if tick.outcome == "untold" else tick.outcome
        return TickItem(state=state, schedule=tick.schedule, due=tick.due, run_id=tick.run_id, note=tick.note)

    def _look_at(self, schedule: Schedule) -> Looked:
        at = now()
        with self._schedules.together():
            seen = self._schedules.ticks(schedule.name, outcomes=OPEN)
            settled = [self.settle(tick, schedule) for tick in seen]
            active = [tick for tick in settled if tick.outcome in ("claimed", "waiting")]
            known = self._known(schedule, at)
            decision = decide(schedule, _outcomes(known), at, active=bool(active))
            begins = (self._put(schedule, due, "claimed", known.get(due)) for due in decision.start)
            tells = (self._claim_again(tick) for tick in settled if tick.outcome == "untold")
            claims = tuple(Claim(schedule=schedule, tick=tick) for tick in (*begins, *tells) if tick is not None)
            lost = [self.item(tick) for tick in settled if tick.outcome == "lost"]
            items = (*lost, *self._record(schedule, decision, known))
        if decision.cancel and self._end_all(active):
            again = self._look_at(schedule)
            return Looked(claims=(*claims, *again.claims), items=(*items, *again.items))
        return Looked(claims=claims, items=items)

    def _end_all(self, active: Sequence[Tick]) -> bool:
        """Cancel runs; whether all of them have ended at once, as those do that only wait."""
        ended = 0
        for tick in active:
            with suppress(PflowError):  # it is about to begin, or ends just now
                ended += self._cancel(tick.run_id) == "cancelled"
        return ended == len(active)

    def _record(self, schedule: Schedule, decision: Decision, known: Mapping[float, Tick]) -> list[TickItem]:
        """Store what becomes of the due times that do not start."""
        outcomes: tuple[tuple[Outcome, tuple[float, ...]], ...] = (
            ("queued", decision.queue),
            ("skipped", decision.skip),
            ("missed", decision.miss),
        )
        put = (self._put(schedule, due, outcome, known.get(due)) for outcome, dues in outcomes for due in dues)
        return [self.item(tick) for tick in put if tick is not None]

    def _put(self, schedule: Schedule, due: float, outcome: Outcome, seen: Tick | None) -> Tick | None:
        """What is stored for a due time from now on; None if somebody else was faster."""
        is_again = seen is not None and seen.outcome == "lost"
        tick = Tick(
            schedule=schedule.name,
            due=due,
            outcome=outcome,
            at=now(),
            run_id=new_run_id() if outcome == "claimed" else "",
            tries=seen.tries + 1 if seen is not None and is_again else 1,
            note=NOTES.get(outcome, ""),
        )
        return tick if self._schedules.put(tick, seen) else None

    def _claim_again(self, tick: Tick) -> Tick | None:
        """A due time whose run failed, claimed once more so that the failure is told."""
        claimed = tick._replace(outcome="claimed", at=now(), tries=tick.tries + 1)
        return claimed if self._schedules.put(claimed, tick) else None

    def _known(self, schedule: Schedule, at: float) -> dict[float, Tick]:
        """What is stored of due times that still matter, and of those to come, if the clock was ahead once."""
        queued = self._schedules.ticks(schedule.name, outcomes=("queued",))
        recent = self._schedules.ticks(schedule.name, since=at - schedule.window - schedule.jitter)
        return {tick.due: tick for tick in (*queued, *recent) if not tick.asked}

    def _outcome(self, tick: Tick) -> Outcome:
        """What became of a due time whose process is gone, by its run; without a run it is lost."""
        info = self._info(tick.run_id)
        if info is None:
            return "lost"
        state = info.state
        for outcome in OUTCOMES:
            if outcome == state:
                return outcome
        return tick.outcome  # another process drives the run

    def _last(self, tick: Tick) -> Last:
        info = self._info(tick.run_id)
        state: str = "starting" if tick.outcome == "claimed" and tick.alive else tick.outcome
        if info is not None:
            state = info.state
        elif tick.outcome == "claimed" and not tick.alive:
            state = "lost"
        return Last(state=state, due=tick.due, run_id=tick.run_id, note=tick.note, asked=tick.asked)

    def _info(self, run_id: str) -> RunInfo | None:
        try:
            return self._journal.info(run_id) if run_id else None
        except NotFoundError:
            return None


def _next_start(schedule: Schedule, known: Mapping[float, Tick], at: float) -> tuple[float | None, str]:
    """When a schedule starts next, or why that cannot be worked out."""
    try:
        return next_start(schedule, _outcomes(known), at), ""
    except UsageError as error:
        return None, error.message


def _outcomes(ticks: Mapping[float, Tick]) -> dict[float, Known]:
    return {due: Known(tick.outcome, tick.tries) for due, tick in ticks.items()}
