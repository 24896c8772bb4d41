"""`pflow "a task in words"`, and `pflow plan` in full: plan it, show it, ask, run it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.cli.input_flag import read_words
from pflow.cli.planning.plan_text import render_plan, write_value
from pflow.cli.run_report import explain_inputs, run_watched, show_outcome
from pflow.cli.text import quote
from pflow.cli.workflow_help import own_options
from pflow.core.errors import DocumentError, ExistsError, InputError, SecurityError, UsageError
from pflow.core.file.file_name import check_name
from pflow.core.printable import escape, shorten
from pflow.core.suggest import did_you_mean

if TYPE_CHECKING:
    from pflow.execution.need.ability import Ability
    from pflow.workspace import Plan
    from pflow.workspace.planning.planned import Planned

NOT_AGREED = 4
"""The exit code of a plan that waits for somebody to agree to it."""

_DECLINED = 2

EXAMPLE = """\b
Examples:
  pflow "count the open issues of my repository and write them to a file"
  pflow plan "summarise notes.txt" --plan-only
  pflow plan "summarise notes.txt" --save summarise --yes

\b
Nothing runs before you have agreed. In a pipe, where nobody can, `--yes` agrees; what a model wrote as a command or as
code then needs `--allow-commands` as well.
"""


@click.command(
    short_help="Plan a task in words, show the plan, ask, run it.",
    epilog=EXAMPLE,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("task")
@click.argument("inputs", nargs=-1, metavar="[INPUTS]...")
@click.option("--yes", is_flag=True, help="Agree to the plan without being asked.")
@click.option("--allow-commands", is_flag=True, help="With --yes: agree to commands and code that a model wrote.")
@click.option("--plan-only", "--dry-run", is_flag=True, help="Show the plan and keep it as a draft; run nothing.")
@click.option("--save", "name", metavar="NAME", help="Save the new workflow under NAME.")
@click.option("--model", default="", metavar="NAME", help="The model that plans; by default the configured one.")
@with_console
@click.pass_context
def plan(
    ctx: click.Context,
    console: Console,
    task: str,
    inputs: tuple[str, ...],
    yes: bool,
    allow_commands: bool,
    plan_only: bool,
    name: str | None,
    model: str,
) -> int:
    """Have a model plan TASK: reuse a saved workflow, or write a new one from the node types that are there.

    The plan is checked like any workflow, and shown with what its steps can do. Inputs follow TASK as for `pflow run`.
    """
    workspace = console.workspace()
    options = own_options(ctx.command)
    _check_words(inputs, options)
    if name is not None:
        _check_free(console, name)
    planned = workspace.plan(task, model=model, report=reporting(console))
    if not planned.ok:
        raise _invalid(console, planned)
    assert planned.checked is not None
    found = planned.checked.runnable()
    typed = _read_inputs(planned, found, inputs, options)
    given: dict[str, object] = {**planned.inputs, **typed}
    if plan_only:
        target = _save(console, planned, name)
        console.reply({"status": "planned", "plan": planned.to_json()}, render_plan(console, planned))
        console.remark("", f"run it: {_command(target, given, planned)}")
        return 0
    if any(one not in given for one in planned.missing):
        console.remark(render_plan(console, planned), "")
    try:
        run = workspace.begin(planned.checked, given, text=True)
    except InputError as error:
        raise explain_inputs(error, found, ["run", planned.workflow], given) from None
    code = _agree(console, planned, given, yes=yes, allow_commands=allow_commands)
    if code is not None:
        return code
    target = _save(console, planned, name)
    outcome = run_watched(console, lambda _: run)
    if console.json:
        console.envelope({**outcome.envelope(), "plan": planned.to_json()})
        return outcome.exit_code
    code = show_outcome(console, outcome)
    if outcome.success and planned.kind == "written" and not name:
        console.remark(f"hint: pflow workflow save {target} NAME   to keep it")
    return code


def _check_words(words: Sequence[str], options: Collection[str]) -> None:
    """Refuse a mistyped option before a model is asked for anything."""
    for word in words:
        hint = did_you_mean(word, options) if word.startswith("--") and "=" not in word else ""
        if hint:
            raise UsageError(
                f"no such option `{shorten(word)}`", suggestions=[hint, "an input of that name is written `name=value`"]
            )


def _read_inputs(planned: Planned, found: Plan, words: Sequence[str], options: Collection[str]) -> dict[str, object]:
    try:
        return read_words(found.inputs, words, workflow=planned.workflow, options=options)
    except UsageError as error:
        kept = f"the plan is kept: `pflow run {planned.workflow}`"
        raise UsageError(error.message, details=error.details, suggestions=[*error.suggestions, kept]) from None


def reporting(console: Console) -> Callable[[str], None]:
    """Says on a terminal what a model is busy with."""
    watched = console.can_ask()
    return lambda message: console.say(f"… {escape(message)}") if watched else None


def _agree(
    console: Console, planned: Planned, given: Mapping[str, object], *, yes: bool, allow_commands: bool
) -> int | None:
    """Have somebody agree to a plan, which is shown; an exit code if nobody does."""
    command = _command(planned.workflow, given, planned)
    if yes:
        console.remark(render_plan(console, planned))
        if planned.unseen and not allow_commands:
            raise SecurityError(
                f"refused to run what a model wrote as commands or code, unseen by anybody: {_steps(planned.unseen)}",
                suggestions=[f"look at the plan, then run it: `{command}`", "or add `--allow-commands` to `--yes`"],
            )
        return None
    if console.can_ask():
        console.say(render_plan(console, planned))
        if click.confirm("run it?", default=False, err=True):
            return None
        console.remark(f"not run; later: {command}")
        return _DECLINED
    console.reply({"status": "planned", "plan": planned.to_json(), "next": command}, render_plan(console, planned))
    console.remark("", f"nobody agreed, so nothing ran; agree with `--yes`, or run it: {command}")
    return NOT_AGREED


def _steps(unseen: Sequence[Ability]) -> str:
    names = dict.fromkeys(f"`{escape(one.step)}`" for one in unseen)
    return f"step{'s' * (len(names) > 1)} {', '.join(names)}"


def _save(console: Console, planned: Planned, name: str | None) -> str:
    """The name that a plan can be run under from now on."""
    if name is None:
        return planned.workflow
    if planned.kind == "reused":
        console.remark(f"note: nothing was saved; `{escape(planned.workflow)}` is saved already")
        return planned.workflow
    console.workspace().save(planned.draft, name)
    return name


def _check_free(console: Console, name: str) -> None:
    """Refuse a name before a model is asked for anything."""
    check_name(name)
    if any(saved.name == name for saved in console.workspace().workflows()):
        raise ExistsError(f"there is a workflow `{name}` already", suggestions=["choose another name"])


def _command(target: str, given: Mapping[str, object], planned: Planned) -> str:
    """The command that runs a plan."""
    inputs = planned.checked.shown_plan().inputs if planned.checked is not None else {}
    shown = [
        f"{name}=…" if name in inputs and inputs[name].secret else quote(f"{name}={write_value(value)}")
        for name, value in given.items()
    ]
    missing = [f"{name}=…" for name in planned.missing if name not in given]
    return " ".join(["pflow run", escape(target), *shown, *missing])


def _invalid(console: Console, planned: Planned) -> DocumentError:
    """The error for a plan that is not valid, with where it is kept and how to go on."""
    if planned.kind == "written":
        what = f"the model wrote no valid workflow, and mended it {planned.authorship.rounds} times"
        if planned.checked is not None and planned.checked.ok and planned.issues == planned.checked.missing:
            what = "the workflow that the model wrote lacks something here"
        hints = [*planned.notes]
        if planned.draft:
            hints += [
                f"what it wrote is kept as a draft; mend it in `{planned.path}`",
                f"then check it with `pflow validate {planned.draft}`, and run it with `pflow run {planned.draft}`",
            ]
    else:
        what = f"the saved workflow `{planned.workflow}` would do it, and cannot run"
        hints = [f"mend it: `pflow workflow edit {planned.workflow}`"]
    console.remark(f"error: {escape(what)}", "")
    if planned.checked is not None:
        console.places = planned.checked.source.parsed.places
        console.source = planned.draft or planned.workflow
    return DocumentError(what, issues=planned.issues, suggestions=[*hints, "say the task in other words, or in parts"])
