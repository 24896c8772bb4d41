"""Begins runs: a checked workflow with its inputs, or an earlier run taken up where it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import InputError, NotFoundError, UsageError
from pflow.core.event import Cause
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
from pflow.execution.far.kind import kind_of_run, queue_of_run
from pflow.execution.live_run import LiveRun, TimeLimit
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import Source, Workflow, find_source, recorded_source

if TYPE_CHECKING:
    from pflow.engine.again.items import Items

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
    trial: Params | None = None,
    cause: Cause | None = None,
    queue: str = "",
) -> LiveRun:
    """A run of a checked workflow; with `text` the params are words of a command line. `queue` is one of its place.

    A `trial` holds the values that it finds as its state, instead of those that are kept; what it sets is not kept.
    """
    plan = checked.runnable()
    if queue := queue_of_run(wiring, queue):
        cause = (cause or Cause())._replace(queue=queue)
    inputs = bind(wiring, plan, params, text=text)
    if trial is not None:
        from pflow.execution.keeping.trial import check_trial  # lazy: few runs are one

        check_trial(plan, trial)
    if plan.asks_models:
        from pflow.execution.model.before import check_models  # lazy: many documents ask no model

        check_models(wiring, plan)
    chosen = run_id or new_run_id()
    run = kind_of_run(wiring)(
        wiring,
        plan,
        chosen,
        lambda executor: executor.run(plan, inputs, run_id=chosen, trial=trial, cause=cause),
        inputs=inputs,
        source=checked.source,
        observer=observer,
        cache=cache,
    )
    run.queue = queue
    return run


def begin_resume(
    wiring: Wiring,
    run_id: str,
    params: Params,
    *,
    edited: Workflow | None = None,
    rerun_in_doubt: bool = False,
    failed_items: Sequence[str] | None = None,
    text: bool = False,
    observer: Observer | None = None,
    cache: bool = True,
) -> LiveRun:
    """The run as it goes on, with its own document or the edited one, and its inputs, changed by `params`.

    With `failed_items`, these items that batches went on without run again, or all if none is named.
    """
    history = read_history(wiring, run_id, params if edited is None else {})
    checked = check_again(wiring, run_id, history, edited)
    plan = checked.ready()
    if edited is None:
        _check_recorded(plan, params)
    inputs = bind_again(wiring, plan, history, params, text=text)
    if history.only:
        _check_only(run_id, history, changed=edited is not None or failed_items is not None)
        from pflow.engine.again.only import only_plan  # lazy: few runs are of a single step

        plan = only_plan(plan, plan.by_id[history.only.partition("#")[0]])
    again = None if failed_items is None else _choose_items(wiring, run_id, failed_items)
    lost: tuple[str, ...] = ()
    if wiring.place is not None and wiring.is_driving:
        from pflow.execution.place.lost_file import find_lost_files  # lazy: most runs stay on one machine

        lost = tuple(find_lost_files(wiring.journal, run_id))
    run = kind_of_run(wiring)(
        wiring,
        plan,
        run_id,
        lambda executor: executor.resume(
            run_id,
            plan,
            inputs,
            edited=edited is not None,
            rerun_in_doubt=rerun_in_doubt,
            again=again,
        ),
        inputs=inputs,
        observer=observer,
        cache=cache,
        warnings=checked.warnings,
    )
    run.note_lost(lost)
    run.parent, run.queue = history.parent.partition("/")[0], history.queue
    if history.time_limit is not None:
        run.limit = TimeLimit(seconds=history.time_limit, left=history.time_limit - history.worked.seconds)
    return run


def bind(wiring: Wiring, plan: Plan, params: Params, *, text: bool = False) -> dict[str, object]:
    """The plan's inputs; secret ones are kept out of everything recorded from here on."""
    wants_secret = any(declared.secret for declared in plan.inputs.values())
    variables = wiring.settings.step_variables() if wants_secret else {}
    left: list[str] = []
    if wants_secret and wiring.has_workers:
        from pflow.execution.place.able import left_to_workers  # lazy: most runs are driven at home

        left = left_to_workers(plan, params)
    inputs = bind_inputs(plan, params, text=text, secrets=variables, left=left)
    redactor = wiring.redactor
    for name, declared in plan.inputs.items():
        if declared.secret and name in inputs:
            _know(redactor, name, inputs[name])
    learn_inputs(plan, inputs, redactor.keep)
    for place, literal in plan.credentials.literals:
        redactor.keep(place, literal)
    return inputs


def _know(redactor: Redactor, name: str, value: object) -> None:
    for place, text in leaves(name, value):
        redactor.add(place, text)


def check_again(wiring: Wiring, run_id: str, history: History, edited: Workflow | None = None) -> Checked:
    """The document with which a run, or another one that is made from it, goes on: the edited one, or its own."""
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
    source = source._replace(state_scope=history.state_scope)  # a run keeps its state where it began to
    checked = check_source(wiring, source, recorded=edited is None or _is_recorded(source, history.document))
    if checked.plan is None and edited is None:
        _check_programs(wiring, run_id, history.document)
    if checked.plan is not None and "" in checked.plan.keeps:
        checked.runnable()  # raises: an edited document must not keep its state under no name
    return checked


def bind_again(wiring: Wiring, plan: Plan, history: History, params: Params, *, text: bool) -> dict[str, object]:
    """The inputs of a run as far as the plan has them, changed by `params`."""
    known = {name: value for name, value in history.inputs.items() if name in plan.inputs}
    for name, value in known.items():
        if isinstance(value, Withheld) and name not in params:
            raise withheld_error(f"the input `{name}`", value)
    return bind(wiring, plan, {**known, **params}, text=text)


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


def read_history(wiring: Wiring, run_id: str, secrets: Params, *, given: Params | None = None) -> History:
    """What the run did. Its document and inputs may hold secret inputs, which have to be known to read them.

    Among those that are `given` there may be some.
    """
    for name, value in secrets.items():
        _know(wiring.redactor, name, value)
    history = wiring.executor(None).history(run_id)
    missing = {name for value in (history.document, *history.inputs.values()) for name in _names(value)}
    if not missing:
        return history
    variables = wiring.settings.variables()
    for name in missing:
        value = {**variables, **secrets, **(given or {})}.get(name, variables.get(name.upper()))
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


def _choose_items(wiring: Wiring, run_id: str, words: Sequence[str]) -> Items:
    """The items to run again, with what they are inside of."""
    # lazy: only where items run again
    from pflow.engine.again.items import check_known, choose_items, with_outer

    history = wiring.executor(None).history(run_id)  # once more: the secrets are known by now
    again = with_outer(choose_items(run_id, history, words))
    check_known(history, again)
    return again


def _check_only(run_id: str, history: History, *, changed: bool) -> None:
    """Raise `UsageError` for a run of a single step that is to go on in another way than it began."""
    if changed:
        raise UsageError(
            f"run `{run_id}` ran only the step `{history.only}`, with the values of `{history.forked_from}`",
            suggestions=[Advice("{run_only}   to try it again", step=history.only, run=history.forked_from)],
        )


def _check_recorded(plan: Plan, params: Params) -> None:
    unknown = [name for name in params if name not in plan.inputs or not plan.inputs[name].secret]
    if unknown:
        raise UsageError(
            f"the inputs of a run are recorded; `{unknown[0]}` cannot change on a plain resume",
            suggestions=[Advice("{add_workflow} to continue with other inputs")],
        )
