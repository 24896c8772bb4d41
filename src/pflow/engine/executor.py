"""Runs plans durably: begins, resumes, stops and cancels runs, and says how they ended."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import CorruptError, PflowError, StorageError
from pflow.core.event import HANDED_OVER, RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted, RunStopped
from pflow.core.file.home import directory_name
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.tape import Tape, begin_at
from pflow.engine.attempt.turn import Limits, Turns
from pflow.engine.binding import recordable
from pflow.engine.commit import Commits
from pflow.engine.ending.parts import describe_outputs, end_of, is_halted
from pflow.engine.history import History, in_doubt, withheld_need
from pflow.engine.plan import Plan
from pflow.engine.ports import AT_ONCE, Asker, Cache, Journal, Observer, Services, Spread, Staying
from pflow.engine.result import RunResult, result_of
from pflow.engine.run import Run, Shared
from pflow.engine.scope import Scope
from pflow.engine.thread import Threads
from pflow.engine.value import withheld_error

if TYPE_CHECKING:
    from pflow.core.event import Cause, StepFailed
    from pflow.engine.again.items import Items
    from pflow.engine.again.origin import Origin
    from pflow.engine.again.settle import Verdict
    from pflow.engine.asking.waits import Patience

Secret = Callable[[], bytes]
"""Gives the secret of a home, with which the keys of questions are made."""

_POLL_SECONDS = 0.25

HANDOVER_SECONDS = 15.0
"""How long a run is left to whoever it was handed to. After that, anyone who drives runs may take it up."""


def new_run_id() -> str:
    """A fresh id: sortable by time, then random."""
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(8).hex()


class Executor:
    """Runs any number of plans at once on one event loop and one journal.

    With `driven` it does so for others: a run that it stops, or that is cut off, is taken up by whoever drives next.
    With `lends`, whoever starts runs here answers prompts for which there is no model.
    """

    def __init__(
        self,
        journal: Journal,
        services: Services,
        *,
        observer: Observer | None = None,
        redactor: Redactor | None = None,
        cache: Cache | None = None,
        turns: Turns | None = None,
        asker: Asker | None = None,
        patience: Callable[[], Patience] | None = None,
        staying: Staying | None = None,
        secret: Secret | None = None,
        driven: bool = False,
        lends: bool = False,
        ticket: int = 0,
        holds: Callable[[], bool] | None = None,
        tape: Tape | None = None,
        spread: Spread | None = None,
    ) -> None:
        self._shared = Shared(
            journal=journal,
            services=services,
            redactor=redactor or Redactor(),
            observer=observer,
            cache=cache,
            threads=Threads(),
            commits=Commits(journal),
            turns=turns or Turns(Limits(), lambda _: None),
            asker=asker,
            patience=patience,
            staying=staying,
            sign=partial(_sign, secret or partial(bytes, os.urandom(32))),  # one for as long as this process lives
            lends=lends,
            holds=holds,
            tape=tape,
            spread=spread if tape is None else None,
        )
        self._driven = driven
        self._ticket = ticket
        self._records_only = False
        self._drives_elsewhere = False
        self.lost_files: tuple[str, ...] = ()
        """Files of the run that goes on here which are on another machine."""

        self._active: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._cancelled: set[str] = set()
        self._stop_reason = "interrupted"
        self._hands_over = driven
        self._watcher: asyncio.TimerHandle | None = None

    async def run(
        self,
        plan: Plan,
        inputs: Mapping[str, object],
        *,
        run_id: str | None = None,
        seed: Mapping[str, object] | None = None,
        origin: Origin | None = None,
        trial: Mapping[str, object] | None = None,
        cause: Cause | None = None,
    ) -> RunResult:
        """Begin a run and see it through, or until it only waits. `origin` is what it begins with of another one.

        With a `trial`, its workflow has these values as state, and keeps nothing.
        """
        run = Run(run_id or new_run_id(), self._shared)
        now, date = begin_at(self._shared.tape)
        recorded = recordable(plan, inputs)
        started = RunStarted(
            workflow=plan.name, document=plan.raw, inputs=recorded, at=now, date=date, directory=directory_name()
        )
        if origin is not None:
            started = started._replace(forked_from=origin.run_id)
        if self._shared.lends and plan.asks_models:
            started = started._replace(lends=True)
        started = started if cause is None else started._replace(**cause._asdict())
        if plan.keeps:
            from pflow.engine.keeping.reading import begin_with_state  # lazy: few workflows keep something

            before = None if origin is None else origin.kept
            run.kept, started = begin_with_state(self._shared.journal.states, plan, started, trial, before)
        run.create(plan.name, now, started, origin)
        run.introduce(plan.name, now, date)
        return await self._go_on(plan, inputs, await self._drive(run, Scope(run, plan, inputs, seed=seed)))

    async def _go_on(self, plan: Plan, inputs: Mapping[str, object], result: RunResult) -> RunResult:
        """Take a run up again for which something was delivered while it was left to rest."""
        while result.status == "waiting" and self._shared.journal.info(result.run_id).has_mail:
            result = await self._take_up(result.run_id, plan, inputs)
        return result

    def history(self, run_id: str) -> History:
        """What a run did so far, for resuming it."""
        return Run(run_id, self._shared).recall()

    async def resume(
        self,
        run_id: str,
        plan: Plan,
        inputs: Mapping[str, object],
        *,
        edited: bool = False,
        rerun_in_doubt: bool = False,
        again: Items | None = None,
    ) -> RunResult:
        """Continue a run: only what is missing runs, or, with an edited plan, what changed.

        `again` are items that batches went on without: they run, and then what their results change. Raises
        `InDoubtError` when steps were in flight that are not safe to run again, unless `rerun_in_doubt`.
        """
        result = await self._take_up(run_id, plan, inputs, edited=edited, rerun_in_doubt=rerun_in_doubt, again=again)
        return await self._go_on(plan, inputs, result)

    async def end_waiting(self, run_id: str, plan: Plan, inputs: Mapping[str, object]) -> RunResult:
        """End a run for good that only waits: its `finally`, and those of sub-workflows that wait, come after that."""
        return await self._take_up(run_id, plan, inputs, ends=True)

    async def _take_up(
        self,
        run_id: str,
        plan: Plan,
        inputs: Mapping[str, object],
        *,
        edited: bool = False,
        rerun_in_doubt: bool = False,
        again: Items | None = None,
        ends: bool = False,
    ) -> RunResult:
        from pflow.engine.ending.reopening import check_open  # lazy: only for runs that go on

        history = self.history(run_id)
        starts_over = edited or bool(again)
        check_open(history, run_id, starts_over)
        if not starts_over and not self._drives_elsewhere and (need := withheld_need(plan, history)):
            raise withheld_error(f"`{need[0]}`", need[1])
        run = Run(run_id, self._shared)
        run.seq = self._shared.journal.claim(run_id, self._ticket)
        try:
            run.history = run.recall()
            only_waits = run.history.only_waits
            run.history.waited |= self._driven  # what had failed runs again only if somebody resumes the run
            check_open(run.history, run_id, starts_over)  # another process may have ended it since
            doubts = in_doubt(plan, run.history)
            is_unwanted = not self._records_only and bool(self._shared.journal.cancel_requests((run_id,)))
            ends = ends or (is_unwanted and only_waits and not doubts)
            is_over = is_unwanted and not ends
            if is_over:
                doubts = []  # nothing runs again
            if doubts and not rerun_in_doubt:
                from pflow.engine.again.settle import doubt_error  # lazy: only for this error

                raise doubt_error(run_id, doubts)
            recorded = recordable(plan, inputs)
            resumed = RunResumed(
                at=time.time(),
                document=plan.raw if edited else None,
                inputs=recorded if edited else {},
                rerun=tuple(doubts),
                again=again or {},
                driven=self._driven,
                directory=directory_name(),
                lends=self._shared.lends and plan.asks_models,
                lost_files=self.lost_files,
            )
            if plan.keeps:
                from pflow.engine.keeping.reading import go_on_with_state  # lazy: few workflows keep something

                run.kept, resumed = go_on_with_state(self._shared.journal.states, plan, resumed, run.history)
        except PflowError as error:
            if self._driven and isinstance(error, StorageError) and not isinstance(error, CorruptError):
                run.hand_over(time.time(), AT_ONCE)  # its journal could not be read just now, which says nothing of it
            else:
                run.let_go()
            raise
        run.introduce(plan.name, run.history.started_at, run.history.date)
        if ends:
            run.on_rest = partial(self.cancel, run_id)
        if starts_over or resumed.is_renewed:
            run.edited = True
            run.history.start_over(again or {}, keeps_failures=bool(again))
        run.emit(resumed)
        if is_over:
            self._cancelled.add(run_id)
        return await self._drive(run, Scope(run, plan, inputs, is_over=is_over))

    def settle(self, run_id: str, plan: Plan, verdicts: Sequence[Verdict], by: str) -> list[str]:
        """Record what became of steps in doubt; returns those that are still in doubt."""
        from pflow.engine.again.settle import settle_doubts  # lazy: not for runs

        return settle_doubts(Run(run_id, self._shared), plan, verdicts, by)

    def only_record(self, *, elsewhere: bool = False) -> None:
        """From now on, record that a run begins or goes on, and leave it to those who drive runs for others.

        Those who are `elsewhere` have secrets of their own: it is for them to say whether what they need is known.
        """
        self._records_only, self._driven, self._drives_elsewhere = True, False, elsewhere

    def play_from(self, tape: Tape) -> None:
        """From now on, let a tape answer steps in place of their code."""
        self._shared = self._shared._replace(tape=tape)

    def stop(
        self,
        run_id: str | None = None,
        *,
        graceful: bool = False,
        reason: str = "interrupted",
        hand_over: bool | None = None,
    ) -> None:
        """Stop one run, or all of them, resumable. `graceful` lets running steps finish and be recorded.

        With `hand_over`, whoever drives next goes on with it: by default, where runs are driven for others.
        """
        self._stop_reason = reason
        self._hands_over = self._driven if hand_over is None else hand_over
        for run, task in self._chosen(run_id):
            run.stop()
            if not graceful:
                task.cancel()

    def cancel(self, run_id: str) -> None:
        """End a run for good."""
        for run, task in self._chosen(run_id):
            self._cancelled.add(run.run_id)
            run.is_cancelled = True
            task.cancel()

    def cancel_orphan(self, run_id: str) -> None:
        """End a run whose process is gone; raises `ConflictError` while a process runs it."""
        run = Run(run_id, self._shared)
        run.seq = self._shared.journal.claim(run_id)
        run.emit(RunCancelled(at=time.time(), orphaned=True), status="cancelled")

    def close(self) -> None:
        """Release the threads."""
        self._shared.threads.close()

    def _chosen(self, run_id: str | None) -> list[tuple[Run, asyncio.Task[None]]]:
        if run_id is None:
            return list(self._active.values())
        found = self._active.get(run_id)
        return [found] if found else []

    async def _drive(self, run: Run, scope: Scope) -> RunResult:
        if self._records_only:
            from pflow.core import clock  # lazy: only for runs that others drive

            run.hand_over(time.time(), clock.now() + HANDOVER_SECONDS)
            return RunResult(run_id=run.run_id, status=HANDED_OVER)
        loop = asyncio.get_running_loop()
        begin = time.perf_counter()
        tools = self._shared.services.tools
        if tools is not None and scope.plan.servers and self._shared.tape is None:
            tools.prepare(scope.plan.servers)
        task = asyncio.create_task(scope.execute())
        self._active[run.run_id] = (run, task)
        self._shared.commits.runs = len(self._active)
        if self._watcher is None:
            self._watcher = loop.call_later(_POLL_SECONDS, self._watch, loop)
        outer_cancel = False
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            outer_cancel = True
            run.stop()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        finally:
            del self._active[run.run_id]
            self._shared.commits.runs = len(self._active)
            if not self._active and self._watcher is not None:
                self._watcher.cancel()
                self._watcher = None
        ms = round((time.perf_counter() - begin) * 1000, 3)
        try:
            result = self._conclude(run, scope, task, ms)
        except StorageError as failure:
            if not isinstance(failure, CorruptError):  # a resume goes on from what the journal stored before it failed
                failure.details["run_id"] = run.run_id
                failure.suggestions = (*failure.suggestions, Advice("then go on with `{resume}`", run=run.run_id))
            raise
        if outer_cancel:
            raise asyncio.CancelledError
        return result

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check at intervals whether another process asked to cancel one of our runs, or has something for it."""
        self._watcher = loop.call_later(_POLL_SECONDS, self._watch, loop)
        with suppress(StorageError):  # it may be back at the next look; whoever has to record something notices
            for asked in self._shared.journal.cancel_requests(self._active):
                self.cancel(asked)
            for run, _ in self._chosen(None):
                if run.waits is not None:
                    run.waits.collect()
                    run.waits.tick()

    def _conclude(self, run: Run, scope: Scope, task: asyncio.Task[None], ms: float) -> RunResult:
        now = time.time()
        outputs: Mapping[str, object] = {}
        error: Mapping[str, object] | None = None
        failed: StepFailed | None = None
        end = end_of(scope)
        if run.run_id in self._cancelled or (end.status == "cancelled" and not is_halted(scope)):
            self._cancelled.discard(run.run_id)
            status = "cancelled"
            error = {"type": "cancelled", "message": "the run was cancelled"}
            run.emit(RunCancelled(at=now), status="cancelled")
        elif (task.cancelled() or is_halted(scope)) and run.waits is not None and run.waits.left is not None:
            status = "waiting"
            run.rest(RunStopped(reason="waiting", at=now))
        elif task.cancelled() or is_halted(scope):
            status = "stopped"
            message = f"the run was stopped ({self._stop_reason}); it can be resumed"
            error = {"type": "interrupted", "message": message}
            if self._hands_over:
                run.hand_over(now, AT_ONCE)
            else:
                run.emit(RunStopped(reason=self._stop_reason, at=now), status="stopped")
        elif (failure := task.exception()) is not None:
            raise failure
        elif end.status == "failed":
            status, error, failed = "failed", end.error, end.failed
            run.emit(RunFailed(error=error, at=now), status="failed")
        else:
            try:
                outputs = scope.names.outputs(run.values.size)
                status = "completed"
                _complete(run, scope, outputs, now)
            except PflowError as problem:
                status, error = "failed", describe_outputs(scope, problem)
                run.emit(RunFailed(error=error, at=now), status="failed")
        return result_of(scope, status=status, outputs=outputs, error=error, failed=failed, ms=ms)


def _complete(run: Run, scope: Scope, outputs: Mapping[str, object], at: float) -> None:
    """Record that a run is complete, and keep what it has set."""
    if not scope.state.sets:
        run.emit(RunCompleted(outputs=outputs, at=at), status="completed")
        return
    from pflow.engine.keeping.change import complete  # lazy: few workflows keep something

    complete(run, scope, outputs, at)


def _sign(secret: Secret, data: bytes) -> str:
    from pflow.engine.asking.question import signer  # lazy: many documents never ask

    return signer(secret)(data)
