"""What a sub-workflow is given by the step that runs it, and what it gives back: its outputs, or its failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pflow.core.errors import BudgetError, StepError, StepTimeout
from pflow.engine.binding import bind_inputs
from pflow.engine.credential import learn_inputs
from pflow.engine.ending.parts import end_of, is_halted
from pflow.engine.failure import Halted
from pflow.engine.plan import MAX_DEPTH, Plan

if TYPE_CHECKING:
    from pflow.engine.scope import Scope


def child_inputs(parent: Scope, plan: Plan, params: Mapping[str, Any]) -> Mapping[str, object]:
    """The inputs of a sub-workflow."""
    if parent.depth + 1 > MAX_DEPTH:
        raise StepError(f"sub-workflows are nested more than {MAX_DEPTH} levels deep")
    inputs = bind_inputs(plan, params.get("inputs") or {})
    learn_inputs(plan, inputs, parent.run.shared.redactor.keep)
    return inputs


def child_outputs(child: Scope, parent: str) -> Mapping[str, object]:
    """The outputs of a sub-workflow that has ended; `parent` is the prefix of the scope that ran it.

    Raises `StepError` if it failed, and `Halted` if it is not over because the run is stopping.
    """
    if is_halted(child) and (child.plan.sections or not child.state.main_failed):
        raise Halted
    end = end_of(child)
    if end.status == "completed":
        return child.names.outputs(child.run.values.size)
    message = end.error.get("message")
    details = {"cause": end.error}
    if end.failed is None and end.error.get("type") == "timeout":
        raise StepTimeout(str(message), details=details)
    at = f" at node `{end.failed.step[len(parent) :]}`" if end.failed is not None else ""
    if end.error.get("type") == BudgetError.code:
        raise BudgetError(str(message), details=details, suggestions=_suggestions(end.error))
    action = str(end.error.get("action", "error"))
    raise StepError(f"sub-workflow failed{at}: {message}", action=action, details=details)


def _suggestions(error: Mapping[str, object]) -> list[str]:
    found = error.get("suggestions")
    return list(found) if isinstance(found, list | tuple) else []
