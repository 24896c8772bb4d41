"""Runs plans durably: begins, resumes, stops and cancels runs, and says how they ended."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping

from pflow.core.advice import Advice
from pflow.core.errors import CorruptError, InDoubtError, PflowError, RunError, StorageError
from pflow.core.event import RunCancelled, RunCompleted, RunFailed, RunResumed, RunStarted, RunStopped, StepCompleted
from pflow.core.frozen import Frozen
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.turn import Limits, Turns
from pflow.engine.commit import Commits
from pflow.engine.ending.parts import describe_outputs, end_of, is_halted
from pflow.engine.history import History, in_doubt, withheld_need
from pflow.engine.plan import Plan
from pflow.engine.ports import Cache, Journal, Observer, Services
from pflow.engine.run import Run, Shared
from pflow.engine.scope import Scope
from pflow.engine.thread import Threads
from pflow.engine.value import withheld_error

_POLL_SECONDS = 0.25


class RunResult(Frozen):
    """How a run ended. `status`: `completed`, `failed`, `stopped` or `cancelled`.

    `store` is what a flow leaves in its shared store, when it was given one. `steps` counts what this process
    executed, batch items one by one; `reused` and `reran` say what an edited document kept and what it ran
    again, with the reason. `failed_items` has, for each batch that went on without some of its items, the step, how
    many failed, and of how many. `failed_in_sections` has the steps of `on_failure` and `finally` that failed, each
    with its section and its error.
    """

    run_id: str
    status: str
    outputs: Mapping[str, object] = {}
    error: Mapping[str, object] | None = None
    failed_node: str | None = None
    params: object = None
    completed: tuple[str, ...] = ()
    steps: int = 0
    duration_ms: float = 0.0
    store: Mapping[str, object] = {}
    reused: tuple[str, ...] = ()
    reran: tuple[tuple[str, str], ...] = ()
    failed_items: tuple[tuple[str, int, int], ...] = ()
    failed_in_sections: tuple[tuple[str, str, Mapping[str, object]], ...] = ()


def new_run_id() -> str:
    """A fresh id: sortable by time, then random."""
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(8).hex()


class Executor:
    """Runs any number of plans at once on one event loop and one journal."""

    def __init__(
        self,
        journal: Journal,
        services: Services,
        *,
        observer: Observer | None = None,
        redactor: Redactor | None = None,
        cache: Cache | None = None,
        turns: Turns | None = None,
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
        )
        self._active: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._cancelled: set[str] = set()
        self._stop_reason = "interrupted"
        self._watcher: asyncio.TimerHandle | None = None

    async def run(
        self,
        plan: Plan,
        inputs: Mapping[str, object],
        *,
        run_id: str | None = None,
        seed: Mapping[str, object] | None = None,
    ) -> RunResult:
        """Begin a run and see it through."""
        run = Run(run_id or new_run_id(), self._shared)
        now = time.time()
        recorded = {name: value for name, value in inputs.items() if not _is_secret(plan, name)}
        date = time.strftime("%Y-%m-%d", time.localtime(now))
        run.create(
            plan.name, now, RunStarted(workflow=plan.name, document=plan.raw, inputs=recorded, at=now, date=date)
        )
        run.introduce(plan.name, now, date)
        return await self._drive(run, Scope(run, plan, inputs, seed=seed))

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
    ) -> RunResult:
        """Continue a run: only what is missing runs, or, with an edited plan, what changed.

        Raises `InDoubtError` when steps were in flight that are not safe to run again, unless `rerun_in_doubt`.
        """
        history = self.history(run_id)
        _check_open(history, run_id, edited)
        if not edited and (need := withheld_need(plan, history)):
            raise withheld_error(f"`{need[0]}`", need[1])
        run = Run(run_id, self._shared)
        run.seq = self._shared.journal.claim(run_id)
        try:
            run.history = run.recall()
            _check_open(run.history, run_id, edited)  # another process may have ended it since
            doubts = in_doubt(plan, run.history)
            if doubts and not rerun_in_doubt:
                raise InDoubtError(
                    f"{_count(doubts)} in flight when the run was cut off, and may or may not have taken effect: "
                    + ", ".join(f"`{step}`" for step in doubts),
                    details={"steps": doubts, "run_id": run_id},
                    suggestions=[Advice("{resume_in_doubt}   to run them again", run=run_id)],
                )
        except PflowError:
            if run.history.finished or run.history.cancelled:
                self._shared.journal.append(run_id, run.seq, (), "cancelled" if run.history.cancelled else "completed")
            else:
                run.emit(RunStopped(reason="in_doubt", at=time.time()), status="stopped")
            raise
        run.introduce(plan.name, run.history.started_at, run.history.date)
        if edited:
            run.edited = True
            run.history.forget()
        recorded = {name: value for name, value in inputs.items() if not _is_secret(plan, name)}
        run.emit(
            RunResumed(
                at=time.time(),
                document=plan.raw if edited else None,
                inputs=recorded if edited else {},
                rerun=tuple(doubts),
            )
        )
        return await self._drive(run, Scope(run, plan, inputs))

    def stop(self, run_id: str | None = None, *, graceful: bool = False, reason: str = "interrupted") -> None:
        """Stop one run, or all of them, resumable. `graceful` lets running steps finish and be recorded."""
        self._stop_reason = reason
        for run, task in self._chosen(run_id):
            run.stop()
            if not graceful:
                task.cancel()

    def cancel(self, run_id: str) -> None:
        """End a run for good."""
        for run, task in self._chosen(run_id):
            self._cancelled.add(run.run_id)
            task.cancel()

    def cancel_orphan(self, run_id: str) -> None:
        """End a run whose process is gone; raises `ConflictError` while a process runs it."""
        run = Run(run_id, self._shared)
        run.seq = self._shared.journal.claim(run_id)
        run.emit(RunCancelled(at=time.time()), status="cancelled")

    def close(self) -> None:
        """Release the threads."""
        self._shared.threads.close()

    def _chosen(self, run_id: str | None) -> list[tuple[Run, asyncio.Task[None]]]:
        if run_id is None:
            return list(self._active.values())
        found = self._active.get(run_id)
        return [found] if found else []

    async def _drive(self, run: Run, scope: Scope) -> RunResult:
        loop = asyncio.get_running_loop()
        begin = time.perf_counter()
        tools = self._shared.services.tools
        if tools is not None and scope.plan.servers:
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
        """Check at intervals whether another process asked to cancel one of our runs."""
        for asked in self._shared.journal.cancel_requests():
            self.cancel(asked)
        self._watcher = loop.call_later(_POLL_SECONDS, self._watch, loop)

    def _conclude(self, run: Run, scope: Scope, task: asyncio.Task[None], ms: float) -> RunResult:
        state, now = scope.state, time.time()
        outputs: Mapping[str, object] = {}
        error: Mapping[str, object] | None = None
        failed_node: str | None = None
        params: object = None
        end = end_of(scope)
        if run.run_id in self._cancelled or (end.status == "cancelled" and not is_halted(scope)):
            self._cancelled.discard(run.run_id)
            status = "cancelled"
            error = {"type": "cancelled", "message": "the run was cancelled"}
            run.emit(RunCancelled(at=now), status="cancelled")
        elif task.cancelled() or is_halted(scope):
            status = "stopped"
            message = f"the run was stopped ({self._stop_reason}); it can be resumed"
            error = {"type": "interrupted", "message": message}
            run.emit(RunStopped(reason=self._stop_reason, at=now), status="stopped")
        elif (failure := task.exception()) is not None:
            raise failure
        elif end.status == "failed":
            status, error = "failed", end.error
            if end.failed is not None:
                failed_node, params = end.failed.step, end.failed.params
            run.emit(RunFailed(error=error, at=now), status="failed")
        else:
            try:
                outputs = scope.names.outputs(run.values.size)
                status = "completed"
                run.emit(RunCompleted(outputs=outputs, at=now), status="completed")
            except PflowError as problem:
                status, error = "failed", describe_outputs(scope, problem)
                run.emit(RunFailed(error=error, at=now), status="failed")
        return RunResult(
            run_id=run.run_id,
            status=status,
            outputs=outputs,
            error=error,
            failed_node=failed_node,
            params=params,
            completed=tuple(state.completed),
            steps=run.steps,
            duration_ms=ms,
            store=scope.names.store(),
            reused=tuple(run.reused),
            reran=tuple(run.reran),
            failed_items=tuple(_lost_items(run)),
            failed_in_sections=tuple((section, one.step, one.error) for section, one in run.lost_in_sections),
        )


def _lost_items(run: Run) -> Iterator[tuple[str, int, int]]:
    """The batches that completed without some of their items, in this process or before."""
    before = (event for events in run.history.steps.values() for event in events if isinstance(event, StepCompleted))
    for event in {event.step: event for event in (*before, *run.lost) if event.failed_items}.values():
        count = event.writes.get("count")
        yield event.step, event.failed_items, count if isinstance(count, int) else event.failed_items


def _check_open(history: History, run_id: str, edited: bool) -> None:
    """Refuse to resume a run that has ended for good."""
    if history.cancelled:
        raise RunError(f"run `{run_id}` was cancelled, for good", suggestions=["start the workflow again"])
    if history.finished and not edited:
        raise RunError(
            f"run `{run_id}` is complete; there is nothing to resume",
            suggestions=[Advice("{resume_edited}   to continue with an edited document", run=run_id)],
        )


def _is_secret(plan: Plan, name: str) -> bool:
    declared = plan.inputs.get(name)
    return declared is not None and declared.secret


def _count(steps: list[str]) -> str:
    return "1 step was" if len(steps) == 1 else f"{len(steps)} steps were"
