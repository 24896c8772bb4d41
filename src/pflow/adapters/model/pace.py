"""How patient questions to models are, and how those who ask one model wait together."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from pflow.core.frozen import Frozen


class Pace(Frozen):
    """How patient exchanges are. `silence` is the longest pause within an answer, `answer` all of its time, in s."""

    tries: int = 4
    silence: float = 300.0
    answer: float = 1800.0
    sleep: Callable[[float], Awaitable[None]] = staticmethod(asyncio.sleep)
    clock: Callable[[], float] = staticmethod(time.monotonic)


class Crowd:
    """Those who ask one model: when it asks one of them to wait, all wait."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._until = 0.0

    def hold(self, seconds: float) -> None:
        """Let nobody ask before that time is over."""
        self._until = max(self._until, self._pace.clock() + seconds)

    async def wait(self) -> None:
        """Return when questions may go out."""
        while (left := self._until - self._pace.clock()) > 0:
            await self._pace.sleep(left)
