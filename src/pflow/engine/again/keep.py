"""What a run that starts over keeps besides results, and why it runs what it does not keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pflow.core.event import StepCompleted, StepFailed
from pflow.engine.again.name import outer_steps
from pflow.engine.credential import secret_inputs
from pflow.engine.history import same_work

if TYPE_CHECKING:
    from pflow.core.template.compiled import Reference
    from pflow.engine.launch import Launch
    from pflow.engine.run import Run
    from pflow.engine.scope import Scope


def kept_failure(run: Run, launch: Launch) -> StepFailed | None:
    """The failure of a step that an error edge took up, where nothing was changed that could mend it."""
    past = run.history.past.get(launch.step)
    failed = past.handled if past is not None and run.history.keeps_failures else None
    if past is None or failed is None or failed.action not in launch.node.edges:
        return None
    if not same_work(past.started, launch.definition, launch.inputs):
        return None
    run.reused.append(launch.step)
    return failed._replace(ms=0.0)


def keep_inputs(scope: Scope, launch: Launch) -> None:
    """Let a step go on under the inputs that it had before, if only a secret among them has another value now.

    A token that expired is what items fail of; with a new one, the items that are done are not done again.
    """
    past, node, plan = scope.run.history.past.get(launch.step), launch.node, scope.plan
    if past is None or past.started.inputs == launch.inputs or past.started.definition != launch.definition:
        return
    sources = [node.params, *((node.batch.items, node.batch.where) if node.batch is not None else ())]
    references = [reference for source in sources if source is not None for reference in source.references]
    roots = {reference.root for reference in references}
    if roots.isdisjoint(secret_inputs(plan)) or node.reads:
        return
    others = [reference for reference in references if reference.root not in plan.inputs]
    if not any(reference.root in ("steps", "error") or _is_changed(scope, reference) for reference in others):
        launch.inputs = past.started.inputs


def _is_changed(scope: Scope, reference: Reference) -> bool:
    """Whether an output that is named is something else than before the run started over."""
    state = scope.state
    node = scope.plan.by_id.get(reference.root)
    if node is None:
        return False  # an item, or what every run has
    past = scope.run.history.past.get(state.step_name(node.number, state.visits.get(node.number, 1)))
    before = past.former.writes if past is not None and past.former is not None else {}
    now = state.outputs.get(node.number, {})
    names = before.keys() | now.keys()
    if reference.path[:1] and reference.path[0] in names:
        names = {str(reference.path[0])}
    key = scope.run.values.key
    return before is not now and any(key(before.get(name)) != key(now.get(name)) for name in names)


def inside_kept(run: Run) -> Iterator[StepCompleted]:
    """How steps ended that are inside of steps which are kept."""
    kept = set(run.reused)
    for step, past in run.history.past.items():
        outer = next((name for name, _ in outer_steps(step) if name in kept), None)
        if outer is not None and past.completed is not None:
            yield past.completed


def note_rerun(run: Run, step: str, reason: str) -> None:
    """Remember that this process, which has a run start over, does not keep a step, and why."""
    if not run.edited:
        return
    items = run.history.again.get(step)
    if items is not None:
        reason = f"{len(items)} failed item{'s' * (len(items) != 1)}" if items else "failed items inside it"
    elif step not in run.history.past and run.origin is not None:
        reason = run.origin.reason(step) or reason
    run.reran.append((step, reason))
