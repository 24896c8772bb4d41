"""Threads for synchronous nodes: reused, bounded, and never waited for when a step was given up."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

LIMIT = 128

_Job = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", contextvars.Context, Callable[..., Any], tuple[Any, ...]]


class Threads:
    """A pool whose threads end with the process, so that a hanging node cannot keep it alive."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._count = 0
        self._busy = 0

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` in a thread, in the caller's context. Cancelling stops the waiting, not the thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._busy += 1
        if self._busy > self._count and self._count < LIMIT:
            self._count += 1
            threading.Thread(target=self._work, name=f"pflow-step-{self._count}", daemon=True).start()
        self._jobs.put((loop, future, contextvars.copy_context(), function, args))
        try:
            return await future
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            loop, future, context, function, args = job
            result: Any = None
            failure: BaseException | None = None
            try:
                result = context.run(function, *args)
            except BaseException as error:  # noqa: BLE001 the step boundary decides, in the loop's thread
                failure = error
            try:
                loop.call_soon_threadsafe(_settle, future, result, failure)
            except RuntimeError:
                return  # the loop is gone, and with it whoever waited


def _settle(future: asyncio.Future[Any], result: Any, failure: BaseException | None) -> None:
    if future.done():
        return
    if failure is None:
        future.set_result(result)
    elif isinstance(failure, StopIteration):
        future.set_exception(RuntimeError("the node raised StopIteration"))
    else:
        future.set_exception(failure)
