"""Lets steps wait for their turn, under the limits of their nodes and of the servers that they call."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from pflow.core.rate import Rate
from pflow.engine.attempt.limiter import Clock, Limiter
from pflow.engine.plan import PlanNode

_MANY = 1000
"""Limits after which those that nobody waits for are forgotten."""

RateOf = Callable[[str], Rate | None]
"""The rate at which an MCP server may be called, if it has one."""


class Limits:
    """The limits of a process, each shared by all of its runs."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._limiters: dict[tuple[str, ...], Limiter] = {}

    def find(self, rate: Rate, *key: str) -> Limiter:
        """The limit of what has this key; another rate begins anew."""
        with self._lock:
            found = self._limiters.get(key)
            if found is None or found.rate != rate:
                if len(self._limiters) >= _MANY:
                    self._limiters = {name: one for name, one in self._limiters.items() if not one.is_idle}
                found = self._limiters[key] = Limiter(rate, self._clock)
            return found


class Turns:
    """What the runs of one executor wait for before each attempt."""

    def __init__(self, limits: Limits, server_rate: RateOf) -> None:
        self._limits = limits
        self._server_rate = server_rate
        self._rates: dict[str, Rate | None] = {}

    def of(self, node: PlanNode) -> list[Limiter]:
        """The limits that a node is under: those with its id that do the same work share one, in whichever run."""
        if node.limit is None and not node.server:
            return []
        found = [] if node.limit is None else [self._limits.find(node.limit, "node", node.id, node.definition)]
        if node.server:
            if node.server not in self._rates:
                self._rates[node.server] = self._server_rate(node.server)
            rate = self._rates[node.server]
            found += [] if rate is None else [self._limits.find(rate, "server", node.server)]
        return found


async def take_turn(limiter: Limiter, say: Callable[[str], None]) -> None:
    """Wait until a start is allowed, behind those that wait already."""
    loop = asyncio.get_running_loop()
    first = asyncio.Event()
    ticket = limiter.join(lambda: loop.call_soon_threadsafe(first.set))
    try:
        said = False
        while (wait := limiter.ask(ticket)) != 0:
            if not said:
                say(f"waits for its turn, at most {limiter.rate.text}")
                said = True
            first.clear()
            try:
                async with asyncio.timeout(wait):
                    await first.wait()
            except TimeoutError:
                pass
    except BaseException:  # undone, and raised again
        limiter.leave(ticket)
        raise
