"""Begins runs: a checked workflow with its inputs, or an earlier run taken up where it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from pflow.core.advice import Advice
from pflow.core.errors import InputError, NotFoundError, UsageError
from pflow.core.setting.redactor import Redactor
from pflow.engine.binding import bind_inputs, coerce_text
from pflow.engine.credential import learn_inputs, leaves
from pflow.engine.executor import new_run_id
from pflow.engine.history import History
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer
from pflow.engine.value import Withheld, withheld_error
from pflow.execution.check import Checked, check_source
from pflow.execution.compiler import PROGRAMS
from pflow.execution.live_run import LiveRun
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source, Workflow, find_source, recorded_source

Params = Mapping[str, object]


def begin_run(
    wiring: Wiring,
    checked: Checked,
    params: Params,
    *,
    text: bool = False,
    observer: Observer | None = None,
    cache: bool = True,
    run_id: str | None = None,
) -> LiveRun:
    """A run of a checked workflow; with `text` the params are words of a command line."""
    plan = checked.runnable()
    inputs = bind(wiring, plan, params, text=text)
    chosen = run_id or new_run_id()
    return LiveRun(
        wiring,
        plan,
        chosen,
        lambda executor: executor.run(plan, inputs, run_id=chosen),
        source=checked.source,
        observer=observer,
        cache=cache,
    )


def begin_resume(
    wiring: Wiring,
    run_id: str,
    params: Params,
    *,
    edited: Workflow | None = None,
    rerun_in_doubt: bool = False,
    text: bool = False,
    observer: Observer | None = None,
    cache: bool = True,
) -> LiveRun:
    """The run as it goes on, with its own document or the edited one, and its inputs, changed by `params`."""
    checked, inputs = _continuation(wiring, run_id, edited, params, text=text)
    plan = checked.ready()
    return LiveRun(
        wiring,
        plan,
        run_id,
        lambda executor: executor.resume(
            run_id, plan, inputs, edited=edited is not None, rerun_in_doubt=rerun_in_doubt
        ),
        observer=observer,
        cache=cache,
        warnings=checked.warnings,
    )


def bind(wiring: Wiring, plan: Plan, params: Params, *, text: bool = False) -> dict[str, object]:
    """The plan's inputs; secret ones are kept out of everything recorded from here on."""
    wants_secret = any(declared.secret for declared in plan.inputs.values())
    variables = wiring.settings.step_variables() if wants_secret else {}
    inputs = bind_inputs(plan, params, text=text, secrets=variables)
    redactor = wiring.redactor
    for name, declared in plan.inputs.items():
        if declared.secret:
            _know(redactor, name, inputs[name])
    learn_inputs(plan, inputs, redactor.keep)
    for place, literal in plan.credentials.literals:
        redactor.keep(place, literal)
    return inputs


def _know(redactor: Redactor, name: str, value: object) -> None:
    for place, text in leaves(name, value):
        redactor.add(place, text)


def _continuation(
    wiring: Wiring, run_id: str, edited: Workflow | None, params: Params, *, text: bool
) -> tuple[Checked, dict[str, object]]:
    history = _history(wiring, run_id, params if edited is None else {})
    if edited is not None:
        source = find_source(edited, wiring.home, wiring.projects)
    elif isinstance(history.document, Withheld):
        raise withheld_error("the document", history.document)
    elif history.document:
        source = recorded_source(history.document, history.workflow, wiring.home, wiring.projects)
    else:
        raise UsageError(
            f"run `{run_id}` is a flow of Python nodes, which only its program has",
            suggestions=["run the program again"],
        )
    checked = check_source(wiring, source, recorded=edited is None or _is_recorded(source, history.document))
    if checked.plan is None and edited is None:
        _check_programs(wiring, run_id, history.document)
    plan = checked.ready()
    known = {name: value for name, value in history.inputs.items() if name in plan.inputs}
    if edited is None:
        _check_recorded(plan, params)
    for name, value in known.items():
        if isinstance(value, Withheld) and name not in params:
            raise withheld_error(f"the input `{name}`", value)
    return checked, bind(wiring, plan, {**known, **params}, text=text)


def _check_programs(wiring: Wiring, run_id: str, recorded: object) -> None:
    """Raise `NotFoundError` if the run was begun by a program whose nodes are not here."""
    programs = recorded.get(PROGRAMS) if isinstance(recorded, Mapping) else None
    for node_type, program in programs.items() if isinstance(programs, Mapping) else ():
        if node_type not in wiring.registry:
            raise NotFoundError(
                f"run `{run_id}` needs the node type `{node_type}`, which is `{program}` of the program that began it",
                suggestions=["resume it in that program, with `Workspace.open(nodes=[…]).resume(…)`"],
            )


def _is_recorded(source: Source, recorded: object) -> bool:
    """Whether a document that was given for a resume is the one that the run has, all of it."""
    document = source.parsed.document
    if document is None or not isinstance(recorded, Mapping) or recorded.get("children"):
        return False  # what the workflows inside of it are now, they need not have been then
    return recorded.get("document") == document.raw


def _history(wiring: Wiring, run_id: str, secrets: Params) -> History:
    """What the run did. Its document and inputs may hold secret inputs, which have to be known to read them."""
    for name, value in secrets.items():
        _know(wiring.redactor, name, value)
    history = wiring.executor(None).history(run_id)
    missing = {name for value in (history.document, *history.inputs.values()) for name in _names(value)}
    if not missing:
        return history
    variables = wiring.settings.variables()
    for name in missing:
        value = secrets.get(name, variables.get(name, variables.get(name.upper())))
        for reading in _readings(name, value):
            _know(wiring.redactor, name, reading)
    return wiring.executor(None).history(run_id)


def _names(value: object) -> tuple[str, ...]:
    """The inputs whose values are missing in a value: of `key.user.0` it is `key`."""
    return tuple(name.partition(".")[0] for name in value.names) if isinstance(value, Withheld) else ()


def _readings(name: str, value: object) -> Iterator[object]:
    """What a word of a command line may mean, while the type of its input is not known."""
    yield value
    for kind in ("integer", "number", "array", "object") if isinstance(value, str) else ():
        with suppress(InputError):
            yield coerce_text(str(value), kind, name)


def _check_recorded(plan: Plan, params: Params) -> None:
    unknown = [name for name in params if name not in plan.inputs or not plan.inputs[name].secret]
    if unknown:
        raise UsageError(
            f"the inputs of a run are recorded; `{unknown[0]}` cannot change on a plain resume",
            suggestions=[Advice("{add_workflow} to continue with other inputs")],
        )
