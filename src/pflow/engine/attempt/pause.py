"""Waits in which nothing runs: they end at once when there is nothing left to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from pflow.engine.failure import Halted


class Pauses:
    """The waits of a run, or of a batch in it, which end with those of the run."""

    def __init__(self, around: Pauses | None = None) -> None:
        self._around = around
        self._waits: set[asyncio.Task[None]] = set()
        self._ended = False

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more."""
        return self._ended or (self._around is not None and self._around.is_over)

    async def wait(self, work: Coroutine[Any, Any, None]) -> None:
        """See `work` through; raises `Halted` if the waits end before it does."""
        if self.is_over:
            work.close()
            raise Halted
        task = asyncio.create_task(work)
        kept = [self._waits, *([] if self._around is None else [self._around._waits])]
        for waits in kept:
            waits.add(task)
        try:
            await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            raise Halted from None
        finally:
            for waits in kept:
                waits.discard(task)

    def end(self) -> None:
        """Let nobody wait any more."""
        self._ended = True
        for task in self._waits:
            task.cancel()
