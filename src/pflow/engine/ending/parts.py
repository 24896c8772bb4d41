"""Sees an execution of a plan through: its main part, then the sections that its end calls for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from pflow.core.errors import PflowError
from pflow.core.event import SECTIONS, Ended, RunEnding, Section, StepFailed
from pflow.core.frozen import Frozen
from pflow.engine.history import scope_of

if TYPE_CHECKING:
    from pflow.engine.scope import Scope


Hold = Callable[[], bool]
"""Whether a cancellation waits until what runs is over."""


class End(Frozen):
    """How the main part ended. `error` is why it did not complete, `failed` the step that the error is of, if any."""

    status: Ended
    error: Mapping[str, object] = {}
    failed: StepFailed | None = None


async def see_through(scope: Scope) -> None:
    """Run what is live, then section by section what follows, until nothing does or the run is stopping.

    A first cancellation ends what runs, but not `finally`, which comes next or goes on; it is raised after that. A
    second one ends it all.
    """
    if not scope.plan.sections:
        await scope.run_live()
        return
    try:
        await _see_sections(scope)
    finally:
        scope.run.lost_in_sections += scope.state.lost


async def _see_sections(scope: Scope) -> None:
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()

    def cancels() -> int:
        return task.cancelling() - before + scope.is_over

    while True:
        try:
            await scope.run_live(hold=lambda: _is_final(scope) and cancels() == 1)
        except asyncio.CancelledError:
            if scope.run.stopping or cancels() > 1 or not _may_follow(scope):
                raise
        cancelled = cancels() > 0
        section = next_section(scope, cancelled=cancelled)
        if section is None or scope.run.stopping:
            break
        end = _cancelled(scope) if cancelled else end_of(scope)
        ending = RunEnding(
            status=end.status, section=section, at=time.time(), error=end.error, scope=scope.state.prefix
        )
        scope.limit = None  # sections have all the time that their nodes have
        scope.run.emit(ending)
        scope.state.begin_section(ending)
    if cancelled:
        raise asyncio.CancelledError


def is_halted(scope: Scope) -> bool:
    """Whether the run is stopping and something of the plan is left to do."""
    state = scope.state
    return scope.run.stopping and bool(state.waiting or state.running or next_section(scope) is not None)


def end_of(scope: Scope) -> End:
    """How the main part ended, whether its sections are over or not."""
    ending, failed = scope.state.ending, scope.state.main_failed
    if ending is not None:
        found = next((one for one in failed.values() if one.error == ending.error), None)
        return End(status=ending.status, error=ending.error, failed=found)
    if scope.limit is not None and scope.limit.was_reached:
        return End(status="failed", error=scope.run.describe(scope.limit.error(), "") | {"node": None})
    if failed:
        first = failed[min(failed)]
        return End(status="failed", error=first.error, failed=first)
    if scope.plan.sections:  # without any, outputs that cannot be put together are found when the run is concluded
        try:
            scope.names.outputs(scope.run.values.size)
            _check_state(scope)
        except PflowError as problem:
            return End(status="failed", error=describe_outputs(scope, problem))
    return End(status="completed")


def _check_state(scope: Scope) -> None:
    """Raise `StateConflict` if a run has lost the race for what it sets: `on_failure` is for that, too."""
    if scope.state.sets and not scope.state.prefix:
        from pflow.engine.keeping.change import find_conflict  # lazy: few workflows keep something

        conflict = find_conflict(scope.run, scope)
        if conflict is not None:
            raise conflict


def describe_outputs(scope: Scope, problem: PflowError) -> dict[str, object]:
    """What is recorded when the outputs of a document cannot be put together."""
    return {**scope.run.describe(problem, "outputs"), "node": None}


def next_section(scope: Scope, *, cancelled: bool = False) -> Section | None:
    """The section that follows what has been run, if one does."""
    if not scope.plan.sections:
        return None
    ending = scope.state.ending
    left = SECTIONS if ending is None else SECTIONS[SECTIONS.index(ending.section) + 1 :]
    failed = not cancelled and end_of(scope).status == "failed"
    return next((one for one in left if one in scope.plan.sections and (failed or one == "finally")), None)


def number_on(scope: Scope) -> None:
    """Let the steps of sections be new ones when a run has started over: what they did, they do again."""
    plan, state = scope.plan, scope.state
    for step in scope.run.history.earlier if plan.sections else ():
        name, _, visit = step[len(state.prefix) :].partition("#")
        node = plan.by_id.get(name) if scope_of(step) == state.prefix else None
        if node is not None and plan.section_of(node.number) is not None:
            state.visits[node.number] = max(state.visits.get(node.number, 0), int(visit or 1))


async def wait_idle(idle: asyncio.Future[None], hold: Hold) -> None:
    """Wait until nothing runs; a cancellation that is to be held back is left for later."""
    while True:
        try:
            await asyncio.shield(idle)
            return
        except asyncio.CancelledError:
            if not hold():
                raise


async def end_all(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks, and again when cancelled meanwhile; returns when they are over."""
    left = set(tasks)
    cancelled = False
    while left:
        for task in left:
            task.cancel()
        try:
            _, left = await asyncio.wait(left)
        except asyncio.CancelledError:
            cancelled = True
            left = {task for task in left if not task.done()}
    for task in tasks:
        if not task.cancelled():
            task.exception()  # what went wrong while it was ended is of no interest
    if cancelled:
        raise asyncio.CancelledError


def _is_final(scope: Scope) -> bool:
    ending = scope.state.ending
    return ending is not None and ending.section == "finally" and not scope.run.stopping


def _may_follow(scope: Scope) -> bool:
    return "finally" in scope.plan.sections and not _is_final(scope)


def _cancelled(scope: Scope) -> End:
    what = "the sub-workflow was ended before it was done" if scope.state.prefix else "the run was cancelled"
    return End(status="cancelled", error={"type": "cancelled", "message": what, "node": None, "action": "cancelled"})
