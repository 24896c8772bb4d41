"""Runs a checked plan for a home and says how it ended: binds inputs, drives the executor, writes the trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from pflow.core.errors import DocumentError, PflowError
from pflow.core.file.home import Home, find_home
from pflow.engine.binding import bind_inputs
from pflow.engine.executor import Executor, RunResult
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer
from pflow.execution.compiler import compile_plan
from pflow.execution.outcome import Outcome
from pflow.execution.retention import clean_home, is_due
from pflow.execution.sync_runner import Session
from pflow.execution.trace import write_trace
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import find_source

Work = Callable[[Executor], Awaitable[RunResult]]

_EXIT_CODES = {"security": 3, "in_doubt": 4}


def execute_workflow(
    workflow_ir: Mapping[str, object],
    execution_params: Mapping[str, object] | None = None,
    output: Observer | None = None,
    enable_repair: bool = False,
    *,
    home: Home | None = None,
) -> Outcome:
    """Run a document with its inputs, for Python programs.

    `output` watches the run. Repair needs a model, and none is connected: asking for it adds a notice to the
    outcome and changes nothing. Raises `DocumentError` and `InputError` when the run cannot begin.
    """
    wiring = Wiring(home or find_home())
    try:
        source = find_source(workflow_ir, wiring.home)
        compiled = compile_plan(source.parsed, wiring.registry, source.load)
        if compiled.plan is None:
            raise DocumentError(f"{len(compiled.issues)} issues in the document", issues=compiled.issues)
        plan = compiled.plan
        inputs = bind(wiring, plan, execution_params or {})
        notices = ["repair is off: no model is configured"] if enable_repair else []
        return block_on(wiring, lambda executor: executor.run(plan, inputs), plan, output, notices=notices)
    finally:
        wiring.close()


def bind(wiring: Wiring, plan: Plan, params: Mapping[str, object], *, text: bool = False) -> dict[str, object]:
    """The plan's inputs; secret ones are kept out of everything recorded from here on."""
    wants_secret = any(declared.secret for declared in plan.inputs.values())
    variables = wiring.settings.variables() if wants_secret else {}
    inputs = bind_inputs(plan, params, text=text, secrets=variables)
    for name, declared in plan.inputs.items():
        if declared.secret:
            for path, leaf in _leaves(name, inputs.get(name)):
                wiring.redactor.add(path, leaf)
    return inputs


def _leaves(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text and number in a value, under a name of its own."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(f"{name}.{number}", item)
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def block_on(
    wiring: Wiring,
    work: Work,
    plan: Plan,
    observer: Observer | None,
    *,
    cache: bool = True,
    signals: bool = False,
    notices: list[str] | None = None,
) -> Outcome:
    """Do `work` on an event loop of its own. With `signals`, SIGINT and SIGTERM stop it, resumable."""
    session = Session(wiring.executor(observer, use_cache=cache), wiring.services.tools, signals=signals)
    return conclude(wiring, session.run(work), plan, signalled=session.exit_code, notices=notices)


def conclude(
    wiring: Wiring, result: RunResult, plan: Plan, *, signalled: int = 0, notices: list[str] | None = None
) -> Outcome:
    """The outcome of a run, without secrets, its trace written."""
    redactor = wiring.redactor
    said = list(notices or ())
    error: Any = redactor.value(result.error) if result.error is not None else None
    code = signalled or _EXIT_CODES.get(str((error or {}).get("type")), 1)
    outputs: Any = redactor.value(dict(result.outputs))
    trace_path = _write_trace(wiring, result.run_id, said)
    _keep_observed(wiring, said)
    _clean(wiring, result.run_id, said)
    return Outcome(
        status=result.status,
        exit_code=0 if result.status == "completed" else code,
        run_id=result.run_id,
        outputs=outputs,
        primary=_primary(wiring, plan, outputs) if result.status == "completed" else None,
        error=error,
        failed_node=result.failed_node,
        params=redactor.value(result.failed_params),
        completed=result.completed,
        steps=result.steps,
        duration_ms=result.duration_ms,
        trace_path=trace_path,
        reused=result.reused,
        reran=result.reran,
        notices=tuple(said),
        limit=wiring.settings.number("output.limit_kb") << 10,
    )


def _write_trace(wiring: Wiring, run_id: str, notices: list[str]) -> str | None:
    settings = wiring.settings
    keep_days, max_mb = settings.number("trace.keep_days"), settings.number("trace.max_mb")
    try:
        records = wiring.journal.read(run_id)
        return str(write_trace(wiring.home.debug, run_id, records, keep_days=keep_days, max_mb=max_mb))
    except PflowError as error:  # whatever is wrong with the home by now, the run did what it did
        notices.append(f"the trace was not written: {error.message}")
        return None


def _keep_observed(wiring: Wiring, notices: list[str]) -> None:
    """Store what tools were seen to give, for the next check."""
    if "observed" in wiring.__dict__:
        try:
            wiring.observed.flush()
        except PflowError as error:  # it is knowledge that a later run brings again
            notices.append(f"what tools gave was not remembered: {error.message}")


def _clean(wiring: Wiring, run_id: str, notices: list[str]) -> None:
    """Once a day, let old runs and drafts go."""
    if not is_due(wiring.home):
        return
    settings = wiring.settings
    days = {"runs_days": settings.number("runs.keep_days"), "drafts_days": settings.number("drafts.keep_days")}
    try:
        clean_home(wiring.home, wiring.journal, **days, keep=run_id)
    except PflowError as error:  # the run did what it did; cleaning can wait for another day
        notices.append(f"old runs were not deleted: {error.message}")


def _primary(wiring: Wiring, plan: Plan, outputs: Mapping[str, object]) -> str | None:
    """The main output of the last node, when the document does not say what its outputs are."""
    if plan.outputs or not plan.nodes or plan.nodes[-1].type not in wiring.registry:
        return None
    declared = wiring.registry.get(plan.nodes[-1].type).interface.outputs
    return declared[0].name if declared and declared[0].name in outputs else None
