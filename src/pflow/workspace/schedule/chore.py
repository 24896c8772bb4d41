"""What schedules have due as work of a daemon: begun when its time comes, and watched on the daemon's event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.core.clock import now
from pflow.workspace.schedule.report import TickItem
from pflow.workspace.schedule.work import Work

if TYPE_CHECKING:
    from pflow.workspace.schedule.scheduling import Scheduling

_MINUTE = 60.0
"""Seconds between two looks at most: runs of schedules end that others have seen through."""


class ScheduleChore:
    """See `pflow.workspace.driving.driver.Chore`. To be made on the event loop, where `say` and `ended` are called.

    `ended` is told that a run is over, so that another due time may begin that has waited for it.
    """

    def __init__(
        self, schedules: Callable[[], Scheduling], *, say: Callable[[str], None], ended: Callable[[], None]
    ) -> None:
        self._schedules = schedules
        self._say = say
        self._ended = ended
        self._stopped = False
        self._loop = asyncio.get_running_loop()
        self._live: dict[Work, asyncio.Future[None]] = {}
        self._next_at = 0.0
        self._looked = time.monotonic()
        self._known: Mapping[str, bytes] = {}

    def next_due(self) -> float:
        """When a schedule starts something, after a minute at the latest.

        It is at once if a run of a schedule can go on, or schedules have come, gone or changed.
        A minute is a minute, also if the clock is set back meanwhile.
        """
        schedules = self._schedules()
        is_over = time.monotonic() >= self._looked + _MINUTE
        is_due = is_over or schedules.has_waited() or schedules.stored() != self._known
        return 0.0 if is_due else self._next_at

    def tick(self) -> Sequence[str]:
        """Begin what is due; what to say about it. Not to be called on the event loop, which goes on meanwhile."""
        schedules = self._schedules()
        self._next_at, self._looked = now() + _MINUTE, time.monotonic()
        self._known = schedules.stored()
        begun = schedules.begin_scheduled()
        begins = schedules.next_scheduled()
        if begins is not None:
            self._next_at = min(self._next_at, begins)
        for work in begun.works:
            self._loop.call_soon_threadsafe(self._begin, work)
        return [_describe(item) for item in begun.items]

    def stop(self) -> None:
        """Let the runs that were begun stop, resumable."""
        self._stopped = True
        for work in self._live:
            work.stop()

    async def close(self) -> None:
        """Wait until the runs that were begun have ended."""
        while self._live:
            await asyncio.wait(self._live.values())

    def _begin(self, work: Work) -> None:
        if self._stopped:
            work.stop()
        self._say(f"schedule {work.schedule}: run {work.run_id} begins")
        self._live[work] = asyncio.ensure_future(self._see_through(work))

    async def _see_through(self, work: Work) -> None:
        try:
            self._say(_describe(await work.finish()))
        finally:
            del self._live[work]
            self._next_at = 0.0
            self._ended()


def _describe(item: TickItem) -> str:
    run = f" run {item.run_id}" if item.run_id else ""
    note = f": {item.note}" if item.note else ""
    return f"schedule {item.schedule}:{run} {item.state}{note}"
