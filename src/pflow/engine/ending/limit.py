"""The time that the main part of a document may take: its `timeout`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from pflow.core.advice import Advice
from pflow.core.errors import StepTimeout

if TYPE_CHECKING:
    from pflow.engine.scope import Scope

T = TypeVar("T")


def limit_of(scope: Scope) -> TimeLimit | None:
    """The time that is left to a scope which is about to run, if its document limits it and its main part is not over.

    What processes worked on a run before counts. A sub-workflow that is taken up again has its whole time.
    """
    seconds, run = scope.plan.timeout, scope.run
    if seconds is None or scope.state.ending is not None:
        return None
    return TimeLimit(seconds, 0.0) if scope.state.prefix else TimeLimit(seconds, run.history.worked.seconds, run.run_id)


class TimeLimit:
    """What is left of the `seconds` that a plan may take, of which some were `spent` before; to be made on a loop.

    `run_id` is that of a run which can be resumed with a longer time; a sub-workflow has none.
    """

    def __init__(self, seconds: float, spent: float, run_id: str = "") -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._at = self._loop.time() + seconds - spent
        self._run_id = run_id
        self._running: list[str] = []
        self._timeouts: set[asyncio.Timeout] = set()
        self._paused_at: float | None = None
        self.was_reached = False

    def is_over(self) -> bool:
        """Whether nothing more may start."""
        self.was_reached = self.was_reached or (self._paused_at is None and self._loop.time() >= self._at)
        return self.was_reached

    def pause(self) -> None:
        """Everything waits: the time does not count."""
        self._paused_at = self._loop.time()
        for timeout in self._timeouts:
            timeout.reschedule(None)

    def go_on(self) -> None:
        """The time counts again."""
        if self._paused_at is None:
            return
        self._at += self._loop.time() - self._paused_at
        self._paused_at = None
        for timeout in self._timeouts:
            timeout.reschedule(self._at)

    async def within(self, work: Awaitable[T], step: str) -> T:
        """The result of a step; raises `StepTimeout` when there is no time left for it."""
        try:
            async with asyncio.timeout_at(self._at) as limit:
                self._timeouts.add(limit)
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
        finally:
            self._timeouts.discard(limit)
        self.was_reached = True
        self._running.append(step)
        raise StepTimeout(self._message())

    def error(self) -> StepTimeout:
        """Why the plan failed, with the steps that were ended."""
        error = StepTimeout(self._message(), details={"running": list(self._running)})
        if self._run_id:
            advice = Advice("give the document a longer `timeout`, and go on with `{resume_edited}`", run=self._run_id)
            error.suggestions = (advice,)
        return error

    def _message(self) -> str:
        what = "the run" if self._run_id else "the sub-workflow"
        from pflow.core.duration import show_duration  # lazy: only for this message

        return f"{what} took longer than {show_duration(self._seconds)}, the `timeout` of its document"
