"""A run, checked and bound: the one thing that is awaited, waited for, stopped or left to go on by itself."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pflow.core.document.issue import Issue
from pflow.core.errors import UsageError
from pflow.core.frozen import Frozen
from pflow.engine.binding import unstored_secrets
from pflow.engine.executor import Executor
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer, Unrecorded
from pflow.engine.result import RunResult
from pflow.execution.compiler import PROGRAMS
from pflow.execution.conclusion import conclude
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source

Work = Callable[[Executor], Awaitable[RunResult]]

SIGNALS = {name: 128 + getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
"""Signals that end a run, resumable, and the exit code each leads to."""

_REFILL_SECONDS = 0.005
"""Until processes are started for the next run: callers that wait for this one's outcome have it by then."""


def in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class TimeLimit(Frozen):
    """For how many `seconds` a run may be worked on, and what is `left` of them."""

    seconds: float
    left: float


class LiveRun:
    """A run that is about to begin, or to go on. `source` is where its document came from, if it has one.

    `warnings` are about the document of a run that goes on, which its caller has not checked.
    """

    is_driven_elsewhere = False
    """Whether those who drive it have settings of their own."""

    def __init__(
        self,
        wiring: Wiring,
        plan: Plan,
        run_id: str,
        work: Work,
        *,
        inputs: Mapping[str, object] | None = None,
        source: Source | None = None,
        observer: Observer | None = None,
        cache: bool = True,
        warnings: Sequence[Issue] = (),
    ) -> None:
        self.run_id = run_id
        self.warnings = warnings
        self.limit: TimeLimit | None = None
        self.parent = ""
        self.queue = ""
        self.lost_files: Sequence[str] = ()
        self.plan = plan
        self._wiring = wiring
        self._work = work
        self._inputs = inputs or {}
        self._cache = cache
        self._source = source
        self._telemetry = wiring.telemetry(run_id, plan, observer) if wiring.wants_telemetry else None
        self._observer = self._telemetry or observer
        self._executor = wiring.executor(self._observer, use_cache=cache)
        self._stopped = False
        self._signalled = 0

    def note_lost(self, files: tuple[str, ...]) -> None:
        """Let it be recorded that files of the run are on another machine."""
        self.lost_files = self._executor.lost_files = files

    async def finish(self) -> Outcome:
        """See it through to its end, or until it is stopped. One that was stopped before never begins."""
        try:
            if self._stopped:
                raise asyncio.CancelledError
            result = await self._work(self._executor)
        finally:
            self._executor.close()
            if self._telemetry is not None:
                self._telemetry.close()
        outcome = conclude(self._wiring, result, self.plan, self._source, signalled=self._signalled)
        workers = self._wiring.given_workers
        if workers is not None:
            asyncio.get_running_loop().call_later(_REFILL_SECONDS, workers.refill)
        return outcome

    def wait(self, *, signals: bool = False) -> Outcome:
        """See it through from synchronous code, on an event loop of its own.

        With `signals`, a first SIGINT, SIGTERM or SIGHUP stops it, resumable, and a second one ends the process. Steps
        of a run that is driven for others are finished first, however often SIGTERM comes: nobody waits for the process
        to end.
        """
        if in_event_loop():
            raise UsageError(
                "a run cannot be waited for inside a running event loop",
                suggestions=["write `await workspace.begin(workflow, params).finish()`, or `await workflow.arun(…)`"],
            )
        ended: list[Outcome] = []

        async def see_through() -> None:
            ended.append(await self._alone(signals))

        with asyncio.Runner() as runner:  # it writes out its task, and all that this gave, twice for nobody to read
            runner.run(see_through())
        return ended[0]

    def record(self) -> Unrecorded:
        """Only record that it begins or goes on, for others to drive; what they need beside the journal.

        Raises `UsageError` if only this program can run it, and whatever keeps it from beginning.
        """
        if in_event_loop():
            raise UsageError(
                "a run cannot be detached inside a running event loop",
                suggestions=["write `await asyncio.to_thread(workspace.detach, run)`"],
            )
        programs = self.plan.raw.get(PROGRAMS)
        if programs or not self.plan.raw:
            what = f"the node type `{next(iter(programs))}`" if isinstance(programs, Mapping) else "this flow"
            raise UsageError(f"a run cannot be detached from this program, because {what} is a part of it")
        unstored = unstored_secrets(self.plan, self._inputs, self._wiring.settings.stored())
        self._executor.only_record(elsewhere=self.is_driven_elsewhere)
        try:
            with asyncio.Runner() as runner:
                runner.run(self._recorded())
        finally:
            self._executor.close()
        return Unrecorded(inputs=unstored, cache=self._cache)

    async def _recorded(self) -> None:
        await self._work(self._executor)

    def wait_aside(self) -> Outcome:
        """The same, on a thread of its own where an event loop runs, which stands still meanwhile."""
        if not in_event_loop():
            return self.wait()
        from concurrent.futures import ThreadPoolExecutor  # lazy: few programs call this from an event loop

        with ThreadPoolExecutor(1) as threads:
            return threads.submit(self.wait).result()

    def stop(self, *, graceful: bool = False, reason: str = "interrupted", hand_over: bool | None = None) -> None:
        """Stop it, resumable. `graceful` lets steps that run finish and be recorded. To be called on the run's loop.

        With `hand_over`, whoever drives runs next goes on with it; by default, if it is driven for others.
        """
        self._stopped = True
        self._executor.stop(self.run_id, graceful=graceful, reason=reason, hand_over=hand_over)

    async def _alone(self, signals: bool) -> Outcome:
        with self._signals(SIGNALS if signals else {}):
            try:
                return await self.finish()
            finally:
                if self._wiring.services.tools is not None:
                    await self._wiring.services.tools.close()

    @contextmanager
    def _signals(self, names: dict[str, int]) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for name in names:
            loop.add_signal_handler(getattr(signal, name), self._on_signal, name)
        try:
            yield
        finally:
            for name in names:
                loop.remove_signal_handler(getattr(signal, name))

    def _on_signal(self, name: str) -> None:
        if self._signalled and self._wiring.is_driving and name == "SIGTERM":
            return  # whoever ends a service may send it to each of its processes and to all
        if self._signalled:
            os._exit(self._signalled)
        self._signalled = SIGNALS[name]
        self.stop(graceful=self._wiring.is_driving)
