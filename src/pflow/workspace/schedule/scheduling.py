"""The use cases of schedules. What is due, and what becomes of it, is decided below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from pflow.adapters.handover import reserve
from pflow.core.advice import Advice
from pflow.core.clock import now
from pflow.core.errors import InputError, NotFoundError, PflowError
from pflow.core.file.atomic import read_private, write_atomic
from pflow.core.file.home_clock import DAY, sure_now
from pflow.core.schedule.name import no_such_schedule
from pflow.core.schedule.schedule import Schedule, decode_schedule
from pflow.engine.executor import HANDOVER_SECONDS
from pflow.engine.ports import RunInfo, RunQuery, Tick
from pflow.execution.conclusion import clean_if_due
from pflow.execution.wiring import Wiring
from pflow.workspace.schedule.adding import Terms, make_schedule
from pflow.workspace.schedule.firing import Fired, Firing
from pflow.workspace.schedule.look import Lookout
from pflow.workspace.schedule.report import Added, ScheduleCheck, ScheduleView, TickReport
from pflow.workspace.schedule.surroundings import within
from pflow.workspace.schedule.ticking import Begun, Ticking
from pflow.workspace.schedule.work import ScheduledWork, Work, Yard

if TYPE_CHECKING:
    from pflow.workspace.workspace import Workspace

_MOST_NEXT = 1000


class Scheduling:
    """The schedules of a home."""

    def __init__(self, workspace: Workspace, wiring: Wiring, notices: list[str]) -> None:
        self._workspace = workspace
        self._wiring = wiring
        self._notices = notices
        self._store = wiring.schedules
        self._lookout = Lookout(self._store, wiring.journal, workspace.cancel)
        self._ticked = wiring.home.root / ".ticked"

    # Keeping them

    def add(
        self,
        workflow: str,
        when: str,
        inputs: Mapping[str, object] | None = None,
        *,
        text: bool = False,
        **terms: Unpack[Terms],
    ) -> Added:
        """Have a saved workflow run at times such as `0 7 * * 1-5` or `every 15m`.

        With `text` the inputs are words of a command line. Raises `PflowError` for what cannot run unattended.
        """
        check, given = self._workspace.check, inputs or {}
        schedule, warnings = make_schedule(self._wiring, check, workflow, when, given, text=text, **terms)
        self._store.add(schedule.name, schedule.encode())
        return Added(view=self._lookout.view(schedule), warnings=tuple(warnings))

    def list(self) -> Sequence[ScheduleView]:
        """Every schedule that can be read."""
        return [self._lookout.view(schedule) for schedule in self._readable()]

    def get(self, name: str) -> ScheduleView:
        """One schedule. Raises `NotFoundError`."""
        return self._lookout.view(self._find(name))

    def pause(self, name: str, reason: str = "") -> ScheduleView:
        """Let a schedule start nothing until it is resumed. Raises `NotFoundError`."""

        def change(data: bytes) -> bytes:
            schedule = decode_schedule(data)
            at = now() if schedule.paused_at is None else schedule.paused_at
            return schedule._replace(paused_at=at, reason=reason).encode()

        self._store.change(name, change)
        return self.get(name)

    def resume(self, name: str) -> ScheduleView:
        """Let a paused schedule go on with its next due time; what was due meanwhile is not made up for.

        Raises `PflowError` while it could not run.
        """

        def change(data: bytes) -> bytes:
            return decode_schedule(data)._replace(paused_at=None, reason="", since=now()).encode()

        schedule = self._find(name)
        if schedule.paused_at is not None:
            with self._there(schedule) as workspace, _advising(name):
                workspace.begin(schedule.workflow, schedule.inputs)  # which begins nothing before it is awaited
            self._store.change(name, change)
        return self.get(name)

    def remove(self, name: str) -> None:
        """Forget a schedule; its runs stay. Raises `NotFoundError`."""
        self._store.remove(name)

    def next(self, name: str, count: int = 5) -> Sequence[float]:
        """When a schedule is due next, without jitter and as if it were not paused. Raises `NotFoundError`."""
        schedule = self._find(name)
        return [*islice(schedule.timing.after(max(now(), schedule.since)), min(count, _MOST_NEXT))]

    # Running them

    def run(self, name: str, *, claimed: str = "") -> Fired:
        """Run a schedule now, to its end, in this process, which must be `within` its surroundings.

        `claimed` is the run of a due time that a tick has claimed. Raises `PflowError` if it cannot begin.
        """
        schedule = self._find(name)
        return Firing(self._workspace, self._store, schedule, lambda reason: self._give_up(name, reason)).run(claimed)

    def tick(self) -> TickReport:
        """Do everything that is due, and what becomes due while that goes on. Signals stop its runs, resumable."""
        return Ticking(self.begin_tick).run()

    async def tick_async(self) -> TickReport:
        """The same on your event loop. Cancelling it stops its runs, resumable, and waits for them."""
        return await Ticking(self.begin_tick).finish()

    def begin_tick(self) -> Begun:
        """Claim everything that is due; `finish` of each work starts a process for it and waits, on your event loop.

        That is what schedules have due, and runs that wait and can go on, unless a daemon or a server takes them up.
        """
        begun = self.begin_scheduled()
        if self._workspace.is_driven():
            return begun
        yard, taken = self._yard(), {work.run_id for work in begun.works}
        others = (info for info in self._due() if info.run_id not in taken and self._reserve(info.run_id))
        works = (Work(yard, info.run_id, self._directory(info.run_id), stage=_stage(info)) for info in others)
        return Begun(works=(*begun.works, *works), items=begun.items)

    def begin_scheduled(self) -> Begun:
        """The same for what belongs to schedules only.

        To be called every minute or so, since schedules come and go. Earlier works need not have ended.
        """
        self._keep_house()
        looked, yard = self._lookout.look(), self._yard()
        works = [
            ScheduledWork(yard, claim.tick.run_id, claim.schedule, stage=f"claim {claim.tick.tries}")
            for claim in looked.claims
        ]
        return Begun(works=(*works, *self._waiting(yard)), items=looked.items)

    def next_due(self) -> float | None:
        """When a tick has something to do next, as far as that is known now."""
        waiting = self._wiring.journal.runs(RunQuery(status="waiting", limit=None))
        wakes = [0.0 if info.has_mail else info.wake_at for info in waiting]
        found = [at for at in (self._lookout.next_at(), *wakes) if at is not None]
        return max(now(), min(found)) if found else None

    def next_scheduled(self) -> float | None:
        """When a schedule starts something next."""
        return self._lookout.next_at()

    def of_run(self, run_id: str) -> Schedule | None:
        """The schedule by whose rules a run goes on that waits; None for one that it may go on without."""
        tick = self._store.started([run_id]).get(run_id)
        data = None if tick is None or tick.outcome != "waiting" else self._store.all().get(tick.schedule)
        return None if data is None else decode_schedule(data)

    def stored(self) -> Mapping[str, bytes]:
        """The schedules as they are kept, to see whether any of them is another one by now."""
        return self._store.all()

    def has_waited(self) -> bool:
        """Whether a run of a schedule has waited and can go on."""
        return bool(self._waiting_ticks())

    def last_tick(self) -> float | None:
        """When somebody last looked for what is due."""
        try:
            return float(read_private(self._ticked, 64))
        except (PflowError, ValueError):
            return None

    # Looking after them

    def check(self, name: str = "") -> Sequence[ScheduleCheck]:
        """Look at everything that runs of a schedule need, or of all of them, short of running them.

        Servers are started and ended again. The current directory of this process is another one meanwhile.
        """
        from pflow.workspace.schedule.doctor import check_firing, check_schedule  # lazy: only a person asks for it

        chosen = [self._find(name)] if name else self._readable()
        reports = [check_schedule(self._lookout.view(schedule), self._there) for schedule in chosen]
        return [*reports, check_firing(self._wiring.home, self.last_tick(), now())]

    @contextmanager
    def _there(self, schedule: Schedule) -> Iterator[Workspace]:
        """A workspace where the runs of a schedule happen."""
        kind = type(self._workspace)
        with within(schedule), kind(self._wiring.home, project=Path(schedule.cwd)) as workspace:
            yield workspace

    def _find(self, name: str) -> Schedule:
        stored = self._store.all()
        if name not in stored:
            raise no_such_schedule(name, stored)
        return decode_schedule(stored[name])

    def _readable(self) -> Sequence[Schedule]:
        schedules, broken = self._lookout.schedules()
        self._notices += [f"schedule `{item.schedule}` is damaged: {item.note}" for item in broken]
        return schedules

    def _give_up(self, name: str, reason: str) -> None:
        try:
            self.pause(name, reason)
        except NotFoundError:
            pass  # it was removed meanwhile

    def _yard(self) -> Yard:
        return Yard(self._wiring.home, self._store, self._wiring.journal, self._lookout)

    def _due(self) -> Sequence[RunInfo]:
        """Runs that wait and can go on."""
        return self._wiring.journal.runs(RunQuery(due=now(), limit=None))

    def _waiting(self, yard: Yard) -> Iterator[Work]:
        """Runs of schedules that wait and can go on."""
        ticks = self._waiting_ticks()
        known = {schedule.name: schedule for schedule in self._lookout.schedules()[0]} if ticks else {}
        for info, tick in ticks:
            if tick.schedule in known and self._reserve(info.run_id):
                yield ScheduledWork(yard, info.run_id, known[tick.schedule], stage=_stage(info))

    def _waiting_ticks(self) -> Sequence[tuple[RunInfo, Tick]]:
        """Runs that wait and can go on, and that were started by schedules."""
        due = self._due()
        ticks = self._store.started(info.run_id for info in due) if due else {}
        found = ((info, ticks.get(info.run_id)) for info in due)
        return [(info, tick) for info, tick in found if tick is not None and tick.outcome == "waiting"]

    def _reserve(self, run_id: str) -> bool:
        """Keep other drivers from a run while a process is started for it; False if one of them has it."""
        try:
            reserve(self._wiring.journal, run_id, now() + HANDOVER_SECONDS)
        except PflowError:
            return False
        return True

    def _directory(self, run_id: str) -> str:
        try:
            return self._workspace.driving.taker(run_id).directory
        except PflowError:
            return ""  # taking it up says what is wrong with it

    def _keep_house(self) -> None:
        """Note that somebody looks, and, once a day, delete what is old; what goes wrong with that is a notice."""
        at, before = now(), self.last_tick()
        try:
            write_atomic(self._ticked, str(at).encode(), durable=False)
            clean_if_due(self._wiring)
            if before is None or before // DAY != at // DAY:
                self._forget()
        except PflowError as error:
            self._notices.append(f"old runs and due times were not deleted: {error.message}")

    def _forget(self) -> None:
        """Drop due times that are as old as runs that are deleted, and that no window reaches back to."""
        sure = sure_now(self._wiring.home)
        if sure is not None:
            windows = [schedule.window + schedule.jitter for schedule in self._lookout.schedules()[0]]
            kept = max([self._wiring.settings.number("runs.keep_days") * DAY, *windows])
            self._store.forget(sure - kept - DAY)


@contextmanager
def _advising(name: str) -> Iterator[None]:
    """Say of inputs that the workflow no longer takes how a schedule gets others."""
    try:
        yield
    except InputError as error:
        advice = Advice("remove the schedule with `{remove_schedule}`, and add it again with other inputs", name=name)
        raise InputError(
            f"the workflow takes other inputs than the schedule `{name}` gives: {error.message}",
            details=error.details,
            suggestions=[*error.suggestions, advice],
        ) from error


def _stage(info: RunInfo) -> str:
    return f"event {info.events}"
