"""Threads for synchronous nodes: reused, bounded, and never waited for once a step was given up."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

LIMIT = 128
"""Threads, at most."""

_PATIENCE = 0.0002
"""Seconds to wait for a lone job on the spot: many nodes are done sooner than the event loop would notice."""


class _Job:
    """One call on its way to a thread and back."""

    __slots__ = ("args", "context", "done", "failure", "function", "future", "loop", "result", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.loop = loop
        self.function = function
        self.args = args
        self.context = contextvars.copy_context()
        self.future: asyncio.Future[Any] | None = None
        self.result: Any = None
        self.failure: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()
        self.waiting = False

    def run(self) -> None:
        try:
            self.result = self.context.run(self.function, *self.args)
        except BaseException as error:  # noqa: BLE001 the step boundary decides, in the loop's thread
            self.failure = error
        self.done.release()
        if self.waiting:
            try:
                self.loop.call_soon_threadsafe(self.settle)
            except RuntimeError:
                pass  # the loop is gone, and with it the task that waited

    def settle(self) -> None:
        """Pass the outcome to the task that awaits it. May be called twice: both sides check after they have acted."""
        if self.future is None or self.future.done():
            return
        if self.failure is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(_awaitable(self.failure))

    def outcome(self) -> Any:
        if self.failure is not None:
            raise _awaitable(self.failure)
        return self.result


class Threads:
    """A pool whose threads end with the process, so that a hanging node cannot keep it alive."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._count = 0
        self._busy = 0

    async def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run `function` in a thread, in the caller's context. Cancelling stops the waiting, not the thread."""
        loop = asyncio.get_running_loop()
        self._busy += 1
        try:
            if self._busy > self._count and self._count < LIMIT:
                self._count += 1
                threading.Thread(target=self._work, name=f"pflow-step-{self._count}", daemon=True).start()
            job = _Job(loop, function, args)
            self._jobs.put(job)
            if self._busy == 1 and job.done.acquire(timeout=_PATIENCE):
                return job.outcome()
            job.future = loop.create_future()
            job.waiting = True
            if job.done.acquire(blocking=False):
                return job.outcome()
            return await job.future
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let idle threads end."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()


def _awaitable(failure: BaseException) -> BaseException:
    # A future cannot hold a StopIteration: it would end the coroutine that awaits it. A KeyboardInterrupt would end
    # the loop; in a thread it is the node's own doing, never a signal.
    if isinstance(failure, StopIteration | KeyboardInterrupt):
        return RuntimeError(f"the node raised {type(failure).__name__}")
    return failure
