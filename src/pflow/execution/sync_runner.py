"""Runs the executor from synchronous code: an event loop, and signals that stop runs without losing anything."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pflow.engine.executor import Executor
from pflow.engine.ports import ToolSessions

T = TypeVar("T")

SIGNALS = {name: 128 + getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
"""Signals that end a run, resumable, and the exit code each leads to."""


class Session:
    """One event loop's worth of work. `exit_code` is set when a signal ended it."""

    def __init__(self, executor: Executor, tools: ToolSessions | None, *, signals: bool) -> None:
        self._executor = executor
        self._tools = tools
        self._signals = signals
        self.exit_code = 0

    def run(self, work: Callable[[Executor], Awaitable[T]]) -> T:
        """Do `work` to its end. A first signal stops its runs and their children, a second one ends the process."""
        with asyncio.Runner() as runner:
            try:
                return runner.run(self._watched(work))
            finally:
                self._executor.close()

    async def _watched(self, work: Callable[[Executor], Awaitable[T]]) -> T:
        loop = asyncio.get_running_loop()
        names = SIGNALS if self._signals else {}
        for name in names:
            loop.add_signal_handler(getattr(signal, name), self._on_signal, name)
        try:
            return await work(self._executor)
        finally:
            if self._tools is not None:
                await self._tools.close()
            for name in names:
                loop.remove_signal_handler(getattr(signal, name))

    def _on_signal(self, name: str) -> None:
        if self.exit_code:
            os._exit(self.exit_code)
        self.exit_code = SIGNALS[name]
        self._executor.stop(reason="interrupted")
