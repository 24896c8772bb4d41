"""A step from its start to its end: its turn, its attempts, and the waits between them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from pflow.core.errors import NotYetError, PflowError, StepTimeout
from pflow.core.event import StepCompleted, StepFailed, StepNotYet
from pflow.engine.attempt.turn import take_turn
from pflow.engine.failure import Halted, retry_wait
from pflow.engine.name_lookup import Names, StepLookup

if TYPE_CHECKING:
    from pflow.engine.ending.limit import TimeLimit
    from pflow.engine.launch import Launch
    from pflow.engine.scope import Scope


async def try_step(scope: Scope, launch: Launch) -> StepCompleted | StepFailed | None:
    """One step with its attempts; None when it stopped half-way because the run is stopping."""
    run = scope.run
    try:
        if launch.node.approve is not None and launch.node.batch is None:
            refused = await _approve(scope, launch)
            if refused is not None:
                return refused
        if not launch.begun:
            await _begin(scope, launch)
        begin = time.perf_counter()
        while True:
            try:
                return await scope.attempt(launch, begin)
            except Halted:
                raise
            except (Exception, SystemExit) as error:  # noqa: BLE001 the step boundary
                failed = scope.failure(launch, error, since(begin))
                retry = launch.node.retry if launch.node.batch is None else None  # items retry one by one
                wait = retry_wait(retry, launch.attempt, error)
                if wait is None:
                    return failed
                again = _again(scope, launch, failed, error, wait)
            await run.emit_grouped(again)
            await run.pauses.wait(asyncio.sleep(0 if run.shared.tape is not None else wait))
            launch.attempt += 1
            await _begin(scope, launch)
    except Halted:
        return None


async def try_in_time(scope: Scope, launch: Launch, limit: TimeLimit) -> StepCompleted | StepFailed | None:
    """The same in the time that is left for the main part of the document."""
    begin = time.perf_counter()
    try:
        return await limit.within(try_step(scope, launch), launch.step)
    except StepTimeout as error:
        return scope.failure(launch, error, since(begin))._replace(action=None)  # no edge: the run has no time


async def _approve(scope: Scope, launch: Launch) -> StepFailed | None:
    """Ask before a step begins; how it failed if nobody agreed."""
    begin = time.perf_counter()
    try:
        await scope.approve(launch)
    except PflowError as error:
        await scope.run.emit_grouped(scope.started(launch))
        return scope.failure(launch, error, since(begin))
    return None


async def _begin(scope: Scope, launch: Launch) -> None:
    """Start an attempt when it is its turn."""
    run = scope.run
    for limiter in run.shared.turns.of(launch.node):
        await run.pauses.wait(take_turn(limiter, lambda text: run.report(launch.step, text)))
    await run.emit_grouped(scope.started(launch))


def _again(
    scope: Scope, launch: Launch, failed: StepFailed, error: BaseException, wait: float
) -> StepFailed | StepNotYet:
    """What is recorded of an attempt that another one follows."""
    if isinstance(error, NotYetError):
        scope.run.history.forget_inside(launch.step)
        return StepNotYet(step=launch.step, reason=error.reason, ms=failed.ms, attempt=launch.attempt, retry_in=wait)
    return failed._replace(retry_in=wait, action=None, params={})


def only_reads(names: Names, launch: Launch) -> bool:
    """Whether a step, or every item of a batch, turns out only to read."""
    node, decide, visit = launch.node, launch.node.only_reads, launch.visit
    if decide is None:
        return launch.repeatable
    if node.batch is None:
        return decide(StepLookup(names, node.number, visit))
    name = node.batch.name
    given = ({name: item, f"{name}_index": index} for index, item in enumerate(launch.items))
    return all(decide(StepLookup(names, node.number, visit, item)) for item in given)


def since(begin: float) -> float:
    """Milliseconds."""
    return round((time.perf_counter() - begin) * 1000, 3)
