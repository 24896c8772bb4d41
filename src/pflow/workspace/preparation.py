"""What comes before and after any run: checking a document, taking up an earlier run, and counting."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, SecurityError, StorageError, UsageError
from pflow.core.file.home import Home
from pflow.core.library.workflow_manager import WorkflowManager
from pflow.execution.compiler import compile_plan
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_execution import bind
from pflow.execution.workflow_source import Checked, Source, Workflow, find_source, recorded_source


def check_source(wiring: Wiring, source: Source) -> Checked:
    """A document as a plan, or all that is wrong with it."""
    parsed = source.parsed
    found = Checked(
        plan=None,
        issues=parsed.issues,
        places=parsed.places,
        source=source.shown,
        library=source.library,
        draft=source.draft,
    )
    if parsed.document is None:  # nothing is read or written for a text that is no document
        return found
    name = source.library or parsed.document.name or Path(source.shown).stem
    compiled = compile_plan(parsed, wiring.registry, source.load, name=name)
    return found._replace(plan=compiled.plan, issues=compiled.issues)


def take_up(
    wiring: Wiring, run_id: str, edited: Workflow | None, params: Mapping[str, object] | None, *, text: bool = False
) -> tuple[Checked, dict[str, object]]:
    """What a run goes on with: its own document or the edited one, and its inputs, changed by `params`."""
    history = wiring.executor(None).history(run_id)
    if edited is None and not history.document:
        raise UsageError(
            f"run `{run_id}` is a flow of Python nodes, which only its program has",
            suggestions=["run the program again"],
        )
    source = (
        recorded_source(history.document, history.workflow, wiring.home)
        if edited is None
        else find_source(edited, wiring.home)
    )
    checked = check_source(wiring, source)
    plan = checked.ready()
    known = {name: value for name, value in history.inputs.items() if name in plan.inputs}
    if edited is None and params:
        unknown = [name for name in params if name not in plan.inputs or not plan.inputs[name].secret]
        if unknown:
            raise UsageError(
                f"the inputs of a run are recorded; `{unknown[0]}` cannot change on a plain resume",
                suggestions=[Advice("{add_workflow} to continue with other inputs")],
            )
    if any(declared.secret for declared in plan.inputs.values()):
        # Binding makes the secret inputs known; only then can others that hold one of them be read.
        bind(wiring, plan, {**known, **(params or {})}, text=text)
        recorded = wiring.executor(None).history(run_id).inputs
        known = {name: recorded[name] for name in known}
    return checked, bind(wiring, plan, {**known, **(params or {})}, text=text)


def count_run(home: Home, checked: Checked, outcome: Outcome) -> list[str]:
    """Count the run of a saved workflow or draft; what kept it from being counted."""
    name = checked.library or checked.draft
    if not name:
        return []
    manager = WorkflowManager(home, kind="library" if checked.library else "draft")
    try:
        manager.record_run(name, outcome.success, outcome.duration_ms)
    except (StorageError, NotFoundError, SecurityError) as error:
        return [f"the run was not counted: {error.message}"]
    return []
