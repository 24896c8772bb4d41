"""Begins runs that start with what another one has done: all of it up to a step, or for a single step."""

from __future__ import annotations

from collections.abc import Iterable

from pflow.core.advice import Advice
from pflow.core.errors import InDoubtError, NotFoundError, UsageError
from pflow.core.event import Cause, StepStarted
from pflow.core.suggest import did_you_mean
from pflow.engine.again.name import node_of, top_of
from pflow.engine.again.only import check_before, only_plan
from pflow.engine.again.origin import Origin, before, fork_at
from pflow.engine.executor import Executor, new_run_id
from pflow.engine.history import History, in_doubt
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.ports import Observer
from pflow.engine.result import RunResult
from pflow.execution.again.file import share_files
from pflow.execution.begin import Params, bind_again, check_again, read_history
from pflow.execution.check import Checked
from pflow.execution.far.kind import kind_of_run, queue_of_run
from pflow.execution.live_run import LiveRun
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Workflow


def begin_fork(
    wiring: Wiring,
    run_id: str,
    step: str,
    params: Params,
    *,
    edited: Workflow | None = None,
    rerun_in_doubt: bool = False,
    text: bool = False,
    observer: Observer | None = None,
    cache: bool = True,
) -> LiveRun:
    """A new run that keeps what another one did before `step`, and goes on from there.

    Steps before whose definition or inputs are others by now run again. Raises `InDoubtError` when steps beside `step`
    were in flight that are not safe to run again, unless `rerun_in_doubt`.
    """
    history = read_history(wiring, run_id, {}, given=params)
    _check_whole(run_id, history)
    checked = check_again(wiring, run_id, history, edited)
    plan = checked.ready()
    node = _find_step(run_id, history, plan, step, may_be_new=edited is not None)
    inputs = bind_again(wiring, plan, history, params, text=text)
    history = wiring.executor(None).history(run_id)  # once more: the secrets are known by now
    origin = fork_at(history, plan, run_id, step, node)
    doubts = [doubt for doubt in in_doubt(plan, history) if node_of(top_of(doubt)) not in origin.ahead]
    if doubts and not rerun_in_doubt:
        raise InDoubtError(
            f"run `{run_id}` was cut off in steps that do not come after `{step}`, and that may or may not have taken "
            f"effect: {_listed(doubts)}",
            details={"steps": doubts, "run_id": run_id},
            suggestions=[Advice("{fork_in_doubt}   to run them again", run=run_id, step=step)],
        )
    queue = queue_of_run(wiring, before=history.queue)
    return _live(wiring, plan, inputs, origin, checked, queue=queue, observer=observer, cache=cache)


def begin_only(
    wiring: Wiring,
    checked: Checked,
    step: str,
    run_id: str,
    params: Params,
    *,
    text: bool = False,
    observer: Observer | None = None,
    cache: bool = True,
    queue: str = "",
) -> LiveRun:
    """A run of a single step of a workflow, with the inputs of another run and what that did before the step.

    At a place it is in the `queue` that is named, else in that of the other run.
    """
    plan = checked.runnable()
    history = read_history(wiring, run_id, {}, given=params)
    node = _find_node(plan, step)
    if "#" in step and step not in history.past:
        raise _no_step(run_id, step, history.past)
    inputs = bind_again(wiring, plan, history, params, text=text)
    history = wiring.executor(None).history(run_id)  # once more: the secrets are known by now
    origin = before(history, plan, run_id, step)
    check_before(plan, node, origin)
    queue = queue_of_run(wiring, queue, history.queue)
    return _live(wiring, only_plan(plan, node), inputs, origin, queue=queue, observer=observer, cache=cache)


def _live(
    wiring: Wiring,
    plan: Plan,
    inputs: dict[str, object],
    origin: Origin,
    checked: Checked | None = None,
    *,
    queue: str,
    observer: Observer | None,
    cache: bool,
) -> LiveRun:
    run_id = new_run_id()

    async def work(executor: Executor) -> RunResult:
        share_files(wiring.home, origin.run_id, run_id)
        return await executor.run(plan, inputs, run_id=run_id, origin=origin, cause=Cause(queue=queue))

    warnings = () if checked is None else checked.warnings
    run = kind_of_run(wiring)(wiring, plan, run_id, work, observer=observer, cache=cache, warnings=warnings)
    run.queue = queue
    return run


def _check_whole(run_id: str, history: History) -> None:
    if history.only:
        raise UsageError(
            f"run `{run_id}` ran only the step `{history.only}`, with the values of `{history.forked_from}`",
            suggestions=[Advice("{fork}", run=history.forked_from, step=history.only)],
        )


def _find_step(run_id: str, history: History, plan: Plan, step: str, *, may_be_new: bool) -> PlanNode:
    """The node of the step at which to fork, which the run has come to, or which is new in its edited document."""
    begun = [event.step for event in history.steps.get("", ()) if isinstance(event, StepStarted)]
    if step not in begun and node_of(step) is None and top_of(step) in begun:
        outer = top_of(step)
        raise UsageError(
            f"`{step}` is inside of `{outer}`, and a run is forked at a step of its own",
            suggestions=[Advice("{fork}", run=run_id, step=outer)],
        )
    if step not in begun and not (may_be_new and step in plan.by_id):
        raise _no_step(run_id, step, begun)
    node = _find_node(plan, step)
    section = plan.section_of(node.number)
    if section is not None:
        raise UsageError(
            f"`{step}` is in `{section}`, which is gone through at the end of every run",
            suggestions=["fork the run at a step of its main part"],
        )
    return node


def _find_node(plan: Plan, step: str) -> PlanNode:
    found = plan.by_id.get(node_of(step) or "")
    if found is None or found.choice is not None:
        names = [node.id for node in plan.nodes if node.choice is None]
        there = f"its nodes are: {', '.join(names)}"
        raise NotFoundError(
            f"the workflow has no node `{step}`", suggestions=[*filter(None, [did_you_mean(step, names)]), there]
        )
    return found


def _no_step(run_id: str, step: str, known: Iterable[str]) -> NotFoundError:
    # What decides which edges to take has a step as well, and no node in the document.
    steps = list(dict.fromkeys(name for name in known if node_of(name) is not None and "?" not in name))
    there = f"it came to: {', '.join(steps)}" if steps else "it came to no step"
    return NotFoundError(
        f"run `{run_id}` did not come to a step `{step}`",
        suggestions=[*filter(None, [did_you_mean(step, steps)]), there],
    )


def _listed(steps: Iterable[str]) -> str:
    return ", ".join(f"`{step}`" for step in steps)
