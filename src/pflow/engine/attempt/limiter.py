"""Who may start when under a rate: first come, first served, evenly spaced. Knows a clock, and waits for nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count

from pflow.core.rate import Rate

Clock = Callable[[], float]
Wake = Callable[[], object]
"""Tells one that waits that it is the first now; raises `RuntimeError` if nobody waits there any more."""

_LATE_SECONDS = 0.1
"""How late one that waited may start without delaying those after it: timers are not exact."""


class Limiter:
    """Lets starts through at a rate, one interval apart: time in which nothing started is not saved up.

    May be used from several threads.
    """

    def __init__(self, rate: Rate, clock: Clock) -> None:
        self.rate = rate
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = clock()
        self._has_waited = False
        self._queue: dict[int, Wake] = {}
        self._tickets = count()

    def join(self, wake: Wake) -> int:
        """Stand in line; `wake` is called when those before have started or left."""
        with self._lock:
            ticket = next(self._tickets)
            self._queue[ticket] = wake
            return ticket

    def ask(self, ticket: int) -> float | None:
        """0.0 if the one with this ticket starts now; else the seconds to wait, or None while others come first."""
        with self._lock:
            if next(iter(self._queue)) != ticket:
                return None
            now = self._clock()
            if now < self._free_at:
                self._has_waited = True
                return self._free_at - now
            late = _LATE_SECONDS if self._has_waited else 0.0
            self._free_at = max(self._free_at, now - late) + self.rate.interval
            self._has_waited = False
            del self._queue[ticket]
            self._wake_first()
            return 0.0

    def leave(self, ticket: int) -> None:
        """Give up waiting."""
        with self._lock:
            if self._queue.pop(ticket, None) is not None:
                self._wake_first()

    @property
    def is_idle(self) -> bool:
        """Whether forgetting it would change nothing."""
        with self._lock:
            return not self._queue and self._clock() >= self._free_at

    def _wake_first(self) -> None:
        while self._queue:
            ticket, wake = next(iter(self._queue.items()))
            try:
                wake()
            except RuntimeError:
                del self._queue[ticket]
            else:
                return
