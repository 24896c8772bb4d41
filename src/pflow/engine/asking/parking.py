"""Knows when everything that runs side by side waits, so that what it belongs to waits as well, up to the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol, Self, TypeVar

from pflow.engine.attempt.pause import Pauses
from pflow.engine.failure import within_countdown

T = TypeVar("T")


class Seat(Protocol):
    """The place from which something tells that it waits; its `pauses` end when there is no need to."""

    pauses: Pauses

    def park(self) -> None:
        """It waits from now on."""

    async def unpark(self) -> None:
        """It goes on; returns when it may."""


SEAT: ContextVar[Seat | None] = ContextVar("pflow_seat", default=None)
"""The seat of the step that the current task runs, if the step may wait."""


class Pausable(Protocol):
    """A limit of time that does not count the time in which everything under it waits."""

    def pause(self) -> None:
        """Time stands still."""

    def go_on(self) -> None:
        """It goes on."""


class Group:
    """Steps of a scope, or items of a batch, which run side by side: `size` of them at a moment.

    When all of them wait, the seat `above` is told, and the limits `paused` meanwhile.
    """

    def __init__(
        self,
        above: Seat,
        size: Callable[[], int],
        *paused: Callable[[], Pausable | None],
        pauses: Pauses | None = None,
    ) -> None:
        self._above = above
        self.pauses = pauses or above.pauses
        self._size = size
        self._paused = paused
        self._parked: set[object] = set()
        self.is_parked = False

    def seat(self, name: object) -> Seat:
        """The seat of one of them."""
        return _GroupSeat(self, name)

    def check(self) -> None:
        """See whether all of them wait now; to be called when one of them is over."""
        if self._parked and not self.is_parked and len(self._parked) == self._size():
            self.is_parked = True
            for limit in self._limits():
                limit.pause()
            self._above.park()

    def leave(self, name: object) -> None:
        """One of them is over."""
        self._parked.discard(name)
        self.check()

    def park(self, name: object) -> None:
        """One of them waits."""
        self._parked.add(name)
        self.check()

    async def unpark(self, name: object) -> None:
        """One of them goes on."""
        self._parked.discard(name)
        if self.is_parked:
            self.is_parked = False
            for limit in self._limits():
                limit.go_on()
            await self._above.unpark()

    def _limits(self) -> list[Pausable]:
        return [limit for limit in (find() for find in self._paused) if limit is not None]


class _GroupSeat:
    def __init__(self, group: Group, name: object) -> None:
        self._group = group
        self._name = name
        self.pauses = group.pauses

    def park(self) -> None:
        self._group.park(self._name)

    async def unpark(self) -> None:
        await self._group.unpark(self._name)


class Countdown:
    """A time limit around some work that can be paused. `expired` tells whether it ended the work."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._timeout = asyncio.timeout(seconds)
        self._left = seconds

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, trace)

    def expired(self) -> bool:
        """Whether the time was over."""
        return self._timeout.expired()

    def pause(self) -> None:
        """Time stands still."""
        at = self._timeout.when()
        if at is not None:
            self._left = at - self._loop.time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        """It goes on."""
        if self._timeout.when() is None:
            self._timeout.reschedule(self._loop.time() + self._left)


class _TimedSeat:
    """The seat of a step that may take so long, not counting the time in which it waits."""

    def __init__(self, seat: Seat, limit: Countdown) -> None:
        self._seat = seat
        self._limit = limit
        self.pauses = seat.pauses

    def park(self) -> None:
        self._limit.pause()
        self._seat.park()

    async def unpark(self) -> None:
        await self._seat.unpark()
        self._limit.go_on()


async def within_seat(seconds: float, work: Awaitable[T], what: str) -> T:
    """The result of the work of a step that may wait; raises `StepTimeout` when it works longer than it may."""
    seat = SEAT.get()
    assert seat is not None
    countdown = Countdown(seconds)
    token = SEAT.set(_TimedSeat(seat, countdown))
    try:
        return await within_countdown(countdown, work, what, seconds)
    finally:
        SEAT.reset(token)
