"""Runs a workflow or one node from the command line: explains wrong inputs, shows progress, prints the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.cli.argument import read_params
from pflow.cli.console import Console
from pflow.core.errors import DocumentError, InputError
from pflow.core.interface import Field
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace import Entry, Outcome, Plan, Workspace
    from pflow.workspace.serving import LiveRun


_LONGEST_WORD = 200


def run_watched(console: Console, begin: Callable[[Workspace], LiveRun]) -> Outcome:
    """See a run through, which signals stop; on a terminal, show how it goes."""
    workspace = console.workspace()
    console.keep_stdout()
    run = begin(workspace)
    if run.warnings:
        console.warn(run.warnings)
    if console.progress is None:
        return workspace.wait(run, signals=True)
    with console.progress as progress:
        outcome = workspace.wait(run, signals=True)
    if progress.shown and outcome.success:
        from pflow.cli.text import show_ms, show_spent  # lazy: only on a terminal

        steps = f"{outcome.steps} step{'s' * (outcome.steps != 1)}"
        spent = f", {show_spent(outcome.spent.tokens, outcome.spent.cost)}" if outcome.spent is not None else ""
        console.say(f"{steps} in {show_ms(outcome.duration_ms)}{spent}, run {outcome.run_id}")
    return outcome


def detach_run(console: Console, begin: Callable[[Workspace], LiveRun]) -> int:
    """Leave a run to others to drive, and say how to follow it; the exit code."""
    workspace = console.workspace()
    console.keep_stdout()
    run = begin(workspace)
    if run.warnings:
        console.warn(run.warnings)
    info = workspace.detach(run)
    console.reply({"run_id": info.run_id, "status": info.state}, info.run_id)
    console.remark(f"show: pflow runs show {info.run_id}", f"cancel: pflow runs cancel {info.run_id}")
    return 0


def show_outcome(console: Console, outcome: Outcome) -> int:
    """Print the outputs, or why there are none; returns the exit code."""
    if console.json:
        console.envelope(outcome.envelope())
        return outcome.exit_code
    for line in _changes(outcome):
        console.say(line)
    for loss in outcome.losses:
        console.say(f"warning: {escape(loss)}; `pflow trace {outcome.run_id}` tells why")
    declined = outcome.declined_items
    if outcome.success and any(failed > declined.get(step, 0) for step, failed, _ in outcome.failed_items):
        console.say(f"hint: pflow runs resume {outcome.run_id} --failed-items   to run them again")
    if outcome.success:
        console.data(main_output(outcome))
    elif outcome.status == "waiting":
        from pflow.cli.asking.question_text import render_waits  # lazy: most runs never wait

        console.say("\n".join(render_waits(outcome.open_waits)))
    else:
        from pflow.cli.text import render_failure  # lazy: only for runs that fail

        console.say(render_failure(outcome))
    return outcome.exit_code


def main_output(outcome: Outcome) -> object:
    """What a person wants to see: the one output there is, the main one, or all of them."""
    outputs = outcome.outputs
    if outcome.primary is not None and outcome.primary in outputs:
        return outputs[outcome.primary]
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    return outputs or None


def check_given(plan: Plan, given: Mapping[str, object]) -> None:
    """Refuse inputs that do not fit; a graph can be drawn while others are missing."""
    from pflow.workspace import bind_inputs  # lazy: only for a dry run

    try:
        bind_inputs(plan, given, text=True)
    except InputError as error:
        if error.wrong:
            raise InputError(error.wrong[0], suggestions=error.suggestions, wrong=error.wrong) from None


def explain_inputs(error: InputError, plan: Plan, command: Sequence[str], given: Mapping[str, object]) -> InputError:
    """The error with the inputs in question described, and the command line that would work.

    `given` is what stood on the command line, behind `command`. A secret that is missing is better stored than typed.
    """
    missing = [name for name in error.missing if name in plan.inputs]
    problems = list(error.wrong)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        problems.append(f"{len(missing)} input{'s' * (len(missing) > 1)} missing: {names}")
    if not problems:
        return error
    from pflow.drawing.text import describe_input  # lazy: only for this error

    about = {
        name: f"{describe_input(declared)}. {declared.description}".rstrip(". ")
        for name, declared in plan.inputs.items()
        if name in missing or len(problems) > bool(missing)
    }
    works = []
    if missing and len(problems) == 1:
        words = [_shown_word(plan, name, value) for name, value in given.items()]
        words += [f"{name}=…" for name in missing if not plan.inputs[name].secret]
        from pflow.cli.text import quote  # lazy: only for this error

        works = [" ".join(["pflow", *map(quote, command), *words])]
    return InputError(
        "; ".join(problems),
        details={"missing": missing, "problems": problems, "inputs": about},
        suggestions=[*error.suggestions, *works],
    )


def _shown_word(plan: Plan, name: str, value: object) -> str:
    """An input as a word that a shell takes; of a secret or long one only its name."""
    import orjson  # lazy: only for this error

    from pflow.cli.text import quote

    word = f"{name}={value if isinstance(value, str) else orjson.dumps(value).decode()}"
    is_secret = name in plan.inputs and plan.inputs[name].secret
    return f"{name}=…" if is_secret or len(word) > _LONGEST_WORD else quote(word)


def _changes(outcome: Outcome) -> list[str]:
    """What an edited document kept and what it ran again."""
    lines = [f"kept: {', '.join(escape(step) for step in outcome.reused)}"] if outcome.reused else []
    return lines + [f"ran: {escape(step)} ({escape(reason)})" for step, reason in outcome.reran]


def required(entry: Entry) -> list[Field]:
    """What a node cannot do without."""
    return [field for field in (*entry.interface.params, *entry.interface.reads) if field.required]


def run_node(console: Console, entry: Entry, params: Sequence[str], command: Sequence[str]) -> Outcome:
    """Run one node with the parameters of a command line; `command` is the words before them."""
    given = read_params(word.removeprefix("--") for word in params)
    _check_params(entry, given, [*command, *params])
    try:
        return run_watched(console, lambda workspace: workspace.begin(workspace.one_step(entry.name, given, text=True)))
    except DocumentError as error:
        raise _explain_refused(entry, given, error) from None


def _explain_refused(entry: Entry, given: Mapping[str, str], error: DocumentError) -> InputError:
    """The issues of a node's own document as what is wrong with its parameters."""
    issues = [issue for issue in error.issues if issue.severity == "error"]
    problems = [issue.message for issue in issues]
    places = " ".join(issue.path for issue in issues)
    fields = (*entry.interface.params, *entry.interface.reads)
    about = [field for field in fields if field.name in given and f".params.{field.name}" in places]
    return InputError(
        "; ".join(problems),
        details={
            "problems": problems,
            "inputs": {field.name: _describe_field(field, always=False) for field in about},
        },
        suggestions=[f"pflow registry describe {entry.name}"],
    )


def _check_params(entry: Entry, given: Mapping[str, str], command: Sequence[str]) -> None:
    """Raise `InputError` with everything that is wrong; `command` is the line without what is missing."""
    from pflow.cli.text import quote  # lazy: only for single nodes
    from pflow.core.suggest import did_you_mean

    fields = {field.name: field for field in (*entry.interface.params, *entry.interface.reads)}
    missing = [field.name for field in required(entry) if field.name not in given]
    unknown = [] if entry.interface.open_params else [name for name in given if name not in fields]
    problems = [
        "; ".join(filter(None, (f"`{entry.name}` has no parameter `{name}`", did_you_mean(name, fields))))
        for name in unknown
    ]
    wrong = {
        name: problem for name, value in given.items() if name in fields and (problem := _wrong(fields[name], value))
    }
    problems += wrong.values()
    if missing:
        problems.append(f"`{entry.name}` needs {', '.join(f'`{name}`' for name in missing)}")
    if not problems:
        return
    shown = [name for name in fields if name in missing or name in wrong or unknown]
    works = " ".join([*(quote(word) for word in command), *(f"{name}=…" for name in missing)])
    raise InputError(
        "; ".join(problems),
        details={
            **({"missing": missing} if missing else {}),
            "problems": problems,
            "inputs": {name: _describe_field(fields[name], always=name in missing) for name in shown},
        },
        suggestions=[works] if missing and len(problems) == 1 else [f"pflow registry describe {entry.name}"],
    )


def _wrong(field: Field, value: str) -> str:
    from pflow.workspace import coerce_text  # lazy: help and completion read no values

    try:
        coerce_text(value, field.type, field.name)
    except InputError as error:
        return error.message
    return ""


def _describe_field(field: Field, *, always: bool) -> str:
    kind = field.type if field.required or always else f"{field.type}, optional"
    return f"{kind}. {field.description}".rstrip(". ")
