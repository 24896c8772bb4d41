"""Tells the client how its run goes: a line per step, a sign of life when nothing happens, never a flood."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    RunEnding,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
    show_ending,
)
from pflow.core.printable import shorten
from pflow.core.wait_text import show_asked

HEARTBEAT_SECONDS = 8.0
"""Silence after which a client is told that the run still goes on. Some give up on a silent call."""

_PAUSE_SECONDS = 0.25
_TURN_SECONDS = 5.0
_MOST_WAITING = 10
_MESSAGE_CHARACTERS = 160
_MOST_SHOWN = 3
_COUNTING_SECONDS = 2.0
_SOURCES = {"cache": "taken from the cache", "reuse": "kept"}

Send = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client: how much is done, of how much, in words."""


class ProgressFeed:
    """An observer on the engine's thread, and a task on the protocol's loop that tells what it saw."""

    def __init__(self, send: Send, *, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self.total = 0
        self._send = send
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._waiting: deque[tuple[int, str]] = deque(maxlen=_MOST_WAITING)
        self._running: dict[str, float] = {}
        self._items: dict[str, tuple[int, int]] = {}
        self._asked: dict[str, set[int | None]] = {}
        self._counted = time.monotonic()
        self._done = 0
        self._told = (0, 0)

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""
        if isinstance(event, StepStarted):
            self._running[event.step] = time.monotonic()
            if event.items:
                self._items[event.step] = (0, event.items)
            if event.attempt > 1:
                self._say(f"`{event.step}`: attempt {event.attempt}")
        elif isinstance(event, StepCompleted):
            self._end(event.step)
            self._say(f"`{event.step}` {_SOURCES.get(event.source) or f'done in {_span(event.ms / 1000)}'}")
        elif isinstance(event, StepFailed):
            message = str(event.error.get("message", ""))
            if event.retry_in is None:
                self._end(event.step)
                self._say(f"`{event.step}` failed: {message}")
            else:
                self._say(f"`{event.step}` failed, next attempt in {_span(event.retry_in)}: {message}")
        elif isinstance(event, StepNotYet):
            self._say(f"`{event.step}` not yet, again in {_span(event.retry_in)}: {event.reason}")
        elif isinstance(event, StepAsked):
            self._ask(event)
        elif isinstance(event, StepAnswered):
            self._asked.get(event.step, set()).discard(event.item)
        elif isinstance(event, ItemCompleted | ItemFailed):
            done, total = self._items.get(event.step, (0, 0))
            self._items[event.step] = (done + 1, total)
            now = time.monotonic()
            if now - self._counted > _COUNTING_SECONDS and done + 1 < total:
                self._counted = now
                self._say(f"`{event.step}`: {done + 1} of {total} items")
        elif isinstance(event, RunEnding):
            self._say(f"`{event.scope}{event.section}`: {show_ending(event.status)}")

    def report(self, run_id: str, step: str, message: str) -> None:
        """A step says what it is doing."""
        self._say(f"`{step}`: {message}")

    async def tell(self) -> None:
        """Send what there is to say until cancelled."""
        while True:
            try:
                await asyncio.wait_for(self._news.wait(), self._heartbeat)
            except TimeoutError:
                self._waiting.append((self._done, self._still()))
            await self.flush()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def flush(self) -> None:
        """Send what waits."""
        self._news.clear()
        while self._waiting:
            done, message = self._waiting.popleft()
            before, times = self._told
            times = times + 1 if done == before else 0
            self._told = (done, times)
            # Each figure must be higher than the one before it, and what runs is less than done.
            amount = done + 1 - 1 / (1 + times)
            total = self.total if amount <= self.total else None
            await self._send(amount, total, shorten(message, _MESSAGE_CHARACTERS))

    def _ask(self, event: StepAsked) -> None:
        """Say what a step waits for; of items that wait side by side, the first."""
        places = self._asked.setdefault(event.step, set())
        if not places:
            item = "" if event.item is None else f"[{event.item}]"
            self._say(f"`{event.step}{item}` waiting {show_asked(event)}")
        places.add(event.item)

    def _end(self, step: str) -> None:
        self._running.pop(step, None)
        self._items.pop(step, None)
        self._done += 1

    def _say(self, message: str) -> None:
        self._waiting.append((self._done, message))
        self._loop.call_soon_threadsafe(self._news.set)

    def _still(self) -> str:
        now = time.monotonic()
        waiting = [f"`{step}`" for step, places in self._asked.items() if places]
        if waiting and len(waiting) >= len(self._running):
            return f"waiting in {', '.join(waiting[:_MOST_SHOWN])}"
        running = list(self._running.items())
        shown = [f"`{step}` for {_span(now - began)}{self._count(step)}" for step, began in running[:_MOST_SHOWN]]
        more = f" and {len(running) - _MOST_SHOWN} more" if len(running) > _MOST_SHOWN else ""
        return f"running {', '.join(shown)}{more}" if shown else "running"

    def _count(self, step: str) -> str:
        done, total = self._items.get(step, (0, 0))
        return f", {done} of {total} items" if total else ""


def _span(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
