"""A worker tells its place that it is there, and what it has: at its start, every few seconds, and at its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from uuid import uuid4

from pflow.adapters.temporal.connection import Queue
from pflow.core.errors import PflowError
from pflow.workspace.place.workers import PlaceWorkers

_BEATS_PER_LEASE = 2


class Presence:
    """The entry of one worker among those of its place. Nothing but what others know of it depends on it."""

    def __init__(self, workers: Callable[[], PlaceWorkers], name: str, queue: Queue, slots: int) -> None:
        self._workers = workers
        self._name = name
        self._queue = queue
        self._slots = slots
        self._worker = uuid4().hex
        self._telling = threading.Lock()
        self._left = False

    def enter(self) -> list[str]:
        """Say that the worker is there; which others of its queue have other node types."""
        self._beat()
        others = [one for one in self._workers().list() if one.queue == self._queue.name and not one.is_gone]
        return [one.name for one in others if not one.as_here]

    async def keep(self, say: Callable[[str], None]) -> None:
        """Say again and again that the worker is there, with what it has by then."""
        is_heard = True
        while True:
            await asyncio.sleep(self._queue.lease_seconds / _BEATS_PER_LEASE)
            try:
                await asyncio.to_thread(self._beat)
                is_heard = True
            except PflowError as error:
                if is_heard:
                    say(f"its place does not hear of this worker: {error.message}")
                is_heard = False

    def leave(self) -> None:
        """Say that the worker takes no more runs."""
        with self._telling:
            self._left = True
            self._workers().leave(self._worker)

    def _beat(self) -> None:
        with self._telling:
            if self._left:  # a beat that was late
                return
            self._workers().beat(
                self._worker,
                name=self._name,
                queue=self._queue.name,
                slots=self._slots,
                lease_seconds=self._queue.lease_seconds,
            )
