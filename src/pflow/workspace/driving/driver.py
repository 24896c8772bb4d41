"""Takes up runs when they are due. How a run is driven is for whoever has the driver; a journal tells when.

A run that cannot be driven is tried again after a while, longer each time. Whether another driver has a run is
decided by the journal: the first one to claim it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from pflow.core.clock import now
from pflow.core.errors import ConflictError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.printable import escape
from pflow.engine.ports import RunInfo, is_due
from pflow.workspace.driving.driving import Driving

MOST_AT_ONCE = 50
"""Runs that are taken up and have not ended; more wait their turn."""

_AHEAD_SECONDS = 60.0
"""Runs that wake within this time are known; it is also how long the journal is not asked at all if nothing changes."""

_LEFT_SECONDS = 5.0
"""How often to look for runs of drivers that are gone: no change of the journal tells of that."""

_TROUBLE_SECONDS = 30.0
"""How long to leave a journal alone that cannot be read."""

_FIRST_TRY_SECONDS, _LAST_TRY_SECONDS = 60.0, 3600.0
"""How long to leave a run alone that cannot be driven: at first, and in the end."""

_CONFLICT_SECONDS = 2.0
"""How long to leave a run alone that somebody else has taken up."""

_NOTHING_DONE = 2
"""Events of a run that was taken up and left again, and nothing else."""

_NEVER = float("inf")

Say = Callable[[str], None]

TakeUp = Callable[[RunInfo, Callable[[], None]], Awaitable[str]]
"""Drives a run until it ends or waits, and says how it stands. Calls what it is given once it has the run."""


class Chore(Protocol):
    """Something else that a driver does when its time has come, such as beginning runs by a schedule."""

    def next_due(self) -> float | None:
        """When there is something to do; None if nobody knows."""

    def tick(self) -> Sequence[str]:
        """Do everything that is due; what to say about it. Called off the event loop."""


class _Refused(Frozen):
    """Why a run as it stands was not driven, and until when it is left alone."""

    info: RunInfo
    reason: str
    seconds: float
    until: float


class Driver:
    """Looks for runs that are due until it is stopped, and has them driven. To be used on one event loop.

    It does nothing while it `rests`, for as long as another one does the work. `warn` is told what goes wrong.
    """

    def __init__(
        self,
        driving: Callable[[], Driving],
        take_up: TakeUp,
        *,
        say: Say,
        warn: Say | None = None,
        poll_seconds: float = 0.25,
        chores: Sequence[Chore] = (),
        rests: Callable[[], bool] = lambda: False,
    ) -> None:
        self.stopping = asyncio.Event()
        self._driving = driving
        self._take_up = take_up
        self._say = say
        self._warn = warn or say
        self._poll_seconds = poll_seconds
        self._chores = chores
        self._rests = rests
        self._watched = driving()
        self._version = ""
        self._asked_at = self._left_at = -_NEVER
        self._wakes_at = _NEVER
        self._quiet_until = -_NEVER
        self._live: dict[str, asyncio.Task[None]] = {}
        self._refused: dict[str, _Refused] = {}
        self._passed: dict[str, int] = {}
        self._woken = asyncio.Event()

    async def work(self, *, once: bool = False) -> None:
        """Take up what is due until `stop`, then wait for it; with `once`, until nothing is due.

        A journal that cannot be read is tried again later; with `once`, that raises `PflowError`.
        """
        while not self.stopping.is_set():
            self._woken.clear()
            try:
                await self._look()
            except PflowError as error:
                if once:
                    raise
                self._warn(f"the runs cannot be looked at: {escape(error.message)}")
                self._quiet_until = time.monotonic() + _TROUBLE_SECONDS
                self._asked_at = -_NEVER
            if once and not self._live:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._woken.wait()
        while self._live:
            await asyncio.wait(self._live.values())

    def look_again(self) -> None:
        """Look for what is due without delay, whatever was found before. To be called on the event loop."""
        self._asked_at = -_NEVER
        self._woken.set()

    def stop(self) -> None:
        """Take up no more."""
        self.stopping.set()
        self._woken.set()

    async def _look(self) -> None:
        if time.monotonic() < self._quiet_until:
            return
        if self._rests():
            self._asked_at = -_NEVER
            return
        if self._can_be_due():
            await self._do_chores()
            self._begin(self._due())
        if time.monotonic() >= self._left_at + _LEFT_SECONDS:
            self._begin(self._left())

    def _can_be_due(self) -> bool:
        """Whether something has been stored, or its time has come, since the journal was asked."""
        version = self._watched.version()
        if version == self._version and now() < self._wakes_at and time.monotonic() < self._asked_at + _AHEAD_SECONDS:
            return False
        self._version = version
        return True

    async def _do_chores(self) -> None:
        for chore in self._chores:
            at = chore.next_due()
            if at is not None and at <= now():
                for line in await asyncio.to_thread(chore.tick):
                    self._say(escape(line))

    def _due(self) -> list[RunInfo]:
        moment = now()
        soon = self._driving().due(moment + _AHEAD_SECONDS)
        wakes = [info.wake_at for info in soon if not is_due(info, moment)]
        wakes += [chore.next_due() for chore in self._chores]
        wakes += [moment + _AHEAD_SECONDS]  # the clock may leap ahead, and what is due later is not known
        self._wakes_at = min(at for at in wakes if at is not None)
        self._asked_at = time.monotonic()
        return [info for info in soon if is_due(info, moment)]

    def _left(self) -> list[RunInfo]:
        """Runs that were driven for others, and whose process is gone."""
        self._left_at = time.monotonic()
        driving = self._driving()
        left = [info for info in driving.left() if self._passed.get(info.run_id) != info.events]
        for info in left:
            if not driving.taker(info.run_id).is_replaced:
                self._passed[info.run_id] = info.events
        return [info for info in left if self._passed.get(info.run_id) != info.events]

    def _begin(self, infos: Sequence[RunInfo]) -> None:
        for info in infos:
            if len(self._live) < MOST_AT_ONCE and info.run_id not in self._live and not self._is_left_alone(info):
                task = asyncio.create_task(self._drive(info))
                self._live[info.run_id] = task
                task.add_done_callback(partial(self._end, info))

    async def _drive(self, info: RunInfo) -> None:
        name = _show(info)
        try:
            how = await self._take_up(info, lambda: self._say(f"{name}: taken up"))
            after = self._driving().info(info.run_id)
        except ConflictError:
            self._leave_alone(info, "", _CONFLICT_SECONDS)  # somebody else has it
            return
        except PflowError as error:
            if not self.stopping.is_set() and not self._is_over(info.run_id):
                self._refuse(info, error.message)
            return
        self._say(f"{name}: {escape(how)}")
        if is_due(after, now()) and after.events <= info.events + _NOTHING_DONE and not self.stopping.is_set():
            self._refuse(after, "it waits again without having done anything")
        else:
            self._refused.pop(info.run_id, None)

    def _is_over(self, run_id: str) -> bool:
        """Whether somebody ended the run while it was being taken up."""
        try:
            return self._driving().info(run_id).status in ("completed", "cancelled")
        except PflowError:
            return False

    def _end(self, info: RunInfo, task: asyncio.Task[None]) -> None:
        del self._live[info.run_id]
        if not task.cancelled() and (bug := task.exception()) is not None:
            self._refuse(info, f"pflow has a bug: {type(bug).__name__}: {bug}")
        self._asked_at = self._left_at = -_NEVER
        self._woken.set()

    def _is_left_alone(self, info: RunInfo) -> bool:
        """Whether a run was refused, and nothing has happened to it since."""
        refused = self._refused.get(info.run_id)
        if refused is None or time.monotonic() >= refused.until:
            return False
        return refused.info.events == info.events and (refused.info.has_mail or not info.has_mail)

    def _refuse(self, info: RunInfo, reason: str) -> None:
        """Leave a run alone for a while, longer each time. What is wrong with it is said once."""
        before = self._refused.get(info.run_id)
        seconds = min(before.seconds * 2, _LAST_TRY_SECONDS) if before is not None else _FIRST_TRY_SECONDS
        self._leave_alone(info, reason, seconds)
        if before is None or before.reason != reason:
            self._warn(f"{_show(info)}: cannot be driven: {escape(reason)}")

    def _leave_alone(self, info: RunInfo, reason: str, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._refused[info.run_id] = _Refused(info=info, reason=reason, seconds=seconds, until=until)


def _show(info: RunInfo) -> str:
    return f"{info.run_id} {escape(info.workflow)}".rstrip()
