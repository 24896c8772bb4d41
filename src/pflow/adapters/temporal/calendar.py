"""The schedules that Temporal holds: when the workflow of a due time is started, and what overlaps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleHandle,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
)
from temporalio.service import RPCError, RPCStatusCode

from pflow.adapters.temporal.connection import Connection
from pflow.adapters.temporal.due_workflow import DUE, Order
from pflow.core.frozen import Frozen
from pflow.core.schedule.policy import ON_TIME_SECONDS
from pflow.core.schedule.schedule import Overlap
from pflow.core.schedule.schedule import Schedule as Held
from pflow.core.schedule.timing import Cron, Every, read_fields

_OVERLAPS: dict[Overlap, ScheduleOverlapPolicy] = {
    "skip": ScheduleOverlapPolicy.SKIP,
    "queue": ScheduleOverlapPolicy.BUFFER_ALL,
    "cancel": ScheduleOverlapPolicy.CANCEL_OTHER,
    "allow": ScheduleOverlapPolicy.ALLOW_ALL,
}

_SUNDAY = 7
_WEEK, _MONTH = range(7), range(1, 32)


class Standing(Frozen):
    """How a schedule stands: when it starts next, whether it is paused and why, and when it was due lately."""

    next_at: float | None
    paused: bool
    reason: str
    dues: Sequence[float]


class Calendar:
    """The schedules of one queue, by name. All methods raise `StorageError` if Temporal does not answer."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, schedule: Held) -> None:
        """Have a schedule fire from now on. One of this name that is there, which nobody knows of, makes room."""
        self._connection.call(self._hold(schedule))

    def drop(self, name: str) -> None:
        """Have a schedule fire no more; it need not be there."""
        self._connection.call(self._drop(name))

    def pause(self, name: str, reason: str) -> bool:
        """Let a schedule start nothing for a while; False if it is not there."""
        return self._connection.call(self._pause(name, reason))

    def resume(self, name: str) -> bool:
        """Let a schedule go on with its next time; False if it is not there."""
        return self._connection.call(self._resume(name))

    def look(self, name: str) -> Standing | None:
        """How a schedule stands; None if it is not there."""
        return self._connection.call(self._look(name))

    def fire(self, schedule: Held, run_id: str) -> None:
        """Have a schedule run now, whatever overlaps, as this run."""
        self._connection.call(self._fire(schedule, run_id))

    async def _hold(self, schedule: Held) -> None:
        client = await self._connection.client()
        queue = self._connection.queue
        action = ScheduleActionStartWorkflow(
            DUE,
            self._order(schedule),
            id=self._id(schedule.name),
            task_queue=queue.name,
            task_timeout=timedelta(seconds=min(queue.lease_seconds, 10.0)),
        )
        made = Schedule(
            action=action,
            spec=spec_of(schedule),
            policy=SchedulePolicy(
                overlap=_OVERLAPS[schedule.overlap],
                catchup_window=timedelta(
                    seconds=schedule.window if schedule.catch_up == "all" else ON_TIME_SECONDS,
                ),
            ),
        )
        try:
            await client.create_schedule(self._id(schedule.name), made)
        except ScheduleAlreadyRunningError:
            await self._drop(schedule.name)
            await client.create_schedule(self._id(schedule.name), made)

    async def _drop(self, name: str) -> None:
        await self._found((await self._handle(name)).delete())

    async def _pause(self, name: str, reason: str) -> bool:
        return await self._found((await self._handle(name)).pause(note=reason or " "))

    async def _resume(self, name: str) -> bool:
        return await self._found((await self._handle(name)).unpause())

    async def _look(self, name: str) -> Standing | None:
        handle = await self._handle(name)
        try:
            found = await handle.describe()
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise
        state, info = found.schedule.state, found.info
        return Standing(
            next_at=info.next_action_times[0].timestamp() if info.next_action_times and not state.paused else None,
            paused=state.paused,
            reason=(state.note or "").strip() if state.paused else "",
            dues=[one.scheduled_at.timestamp() for one in info.recent_actions],
        )

    async def _fire(self, schedule: Held, run_id: str) -> None:
        client = await self._connection.client()
        order = self._order(schedule)
        order["run_id"] = run_id
        await client.start_workflow(
            DUE, order, id=f"{self._id(schedule.name)}-{run_id}", task_queue=self._connection.queue.name
        )

    def _order(self, schedule: Held) -> Order:
        return Order(schedule=schedule.name, lease=self._connection.queue.lease_seconds, window=schedule.window)

    async def _found(self, work: object) -> bool:
        """Whether what is called about is there."""
        try:
            await work  # type: ignore[misc]
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def _handle(self, name: str) -> ScheduleHandle:
        return (await self._connection.client()).get_schedule_handle(self._id(name))

    def _id(self, name: str) -> str:
        return f"pflow-schedule/{self._connection.queue.name}/{name}"


def spec_of(schedule: Held) -> ScheduleSpec:
    """When a schedule is due, in Temporal's words."""
    timing = schedule.timing
    jitter = timedelta(seconds=schedule.jitter) if schedule.jitter else None
    if isinstance(timing, Every):
        every = timedelta(seconds=timing.seconds)
        offset = timedelta(seconds=timing.anchor % timing.seconds)
        start = datetime.fromtimestamp(timing.anchor + 1, UTC)
        return ScheduleSpec(intervals=[ScheduleIntervalSpec(every=every, offset=offset)], jitter=jitter, start_at=start)
    assert isinstance(timing, Cron)
    return ScheduleSpec(calendars=_calendars(timing), jitter=jitter, time_zone_name=schedule.zone)


def _calendars(cron: Cron) -> list[ScheduleCalendarSpec]:
    """Five fields as calendars. If both kinds of days are given, either is enough, and each has a calendar."""
    fields = read_fields(cron.fields)
    weekdays = {0 if day == _SUNDAY else day for day in fields.weekdays}

    def calendar(days: Collection[int], chosen: Collection[int]) -> ScheduleCalendarSpec:
        return ScheduleCalendarSpec(
            minute=_ranges(fields.minutes),
            hour=_ranges(fields.hours),
            month=_ranges(fields.months),
            day_of_month=_ranges(days),
            day_of_week=_ranges(chosen),
        )

    if fields.needs_both:
        return [calendar(fields.days, weekdays)]
    return [calendar(fields.days, _WEEK), calendar(_MONTH, weekdays)]


def _ranges(values: Collection[int]) -> list[ScheduleRange]:
    return [ScheduleRange(value) for value in sorted(values)]
