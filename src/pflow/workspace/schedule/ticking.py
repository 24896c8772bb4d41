"""A tick: everything that is due, and what becomes due while that goes on, each run in a process of its own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pflow.core.frozen import Frozen
from pflow.execution.live_run import SIGNALS
from pflow.workspace.schedule.report import TickItem, TickReport
from pflow.workspace.schedule.work import Work

LOOK_SECONDS = 15.0
"""How often a tick whose runs go on looks for what has become due meanwhile."""


class Begun(Frozen):
    """What a look at the schedules found: `works` to be seen through, and `items` that are done with."""

    works: tuple[Work, ...] = ()
    items: tuple[TickItem, ...] = ()


class Ticking:
    """A tick that goes on until nothing is left to do.

    Whatever fires ticks may not start a second one before the first has ended, so that a long run must not keep other
    schedules waiting.
    """

    def __init__(self, look: Callable[[], Begun]) -> None:
        self._look = look
        self._running: dict[asyncio.Task[TickItem], Work] = {}
        self._items: list[TickItem] = []
        self._seen: set[tuple[str, str]] = set()
        self._signalled = 0

    def run(self) -> TickReport:
        """See it through from synchronous code. The first signal stops its runs, resumable."""
        with asyncio.Runner() as runner:
            return runner.run(self._until_signal())

    async def finish(self) -> TickReport:
        """See it through. If this is cancelled, its runs are stopped, resumable, and waited for."""
        try:
            while self._begin() or self._running:
                done, _ = await asyncio.wait(self._running, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del self._running[task]
                    self._items.append(task.result())
        except asyncio.CancelledError:
            self._stop()
            await asyncio.gather(*self._running, return_exceptions=True)
            raise
        return TickReport(items=tuple(self._items), signalled=self._signalled)

    def _begin(self) -> bool:
        """Start what is due; whether there was anything."""
        if self._signalled:
            return False
        begun = self._look()
        self._items += [item for item in begun.items if item not in self._items]
        for work in begun.works:
            if (key := (work.run_id, work.stage)) not in self._seen:  # a run that gets nowhere is not tried again
                self._seen.add(key)
                self._running[asyncio.create_task(work.finish())] = work
        return bool(self._running)

    def _stop(self) -> None:
        for work in self._running.values():
            work.stop(at_once=True)

    async def _until_signal(self) -> TickReport:
        with self._signals():
            return await self.finish()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for name, code in SIGNALS.items():
            loop.add_signal_handler(getattr(signal, name), self._on_signal, code)
        try:
            yield
        finally:
            for name in SIGNALS:
                loop.remove_signal_handler(getattr(signal, name))

    def _on_signal(self, code: int) -> None:
        self._signalled = self._signalled or code
        self._stop()
