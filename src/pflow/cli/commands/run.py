"""`pflow run` and `pflow validate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow, has_stdin, read_inputs, read_stdin
from pflow.cli.command_group import SHORTHAND, with_console
from pflow.cli.command_table import COMMANDS
from pflow.cli.completion import complete_file, complete_input, complete_input_flag, complete_run, complete_workflow
from pflow.cli.console import Console
from pflow.cli.input_flag import read_words
from pflow.cli.picture import drawing_options, show_graph
from pflow.cli.place.option import place_option, queue_option, read_queue
from pflow.cli.run_report import check_given, detach_run, explain_inputs, run_watched, show_outcome
from pflow.cli.workflow_help import own_options, show_workflow_help, start_of_call
from pflow.core.errors import InputError, NotFoundError, UsageError
from pflow.core.printable import escape, shorten
from pflow.core.suggest import did_you_mean

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from pflow.workspace import Checked, Workspace
    from pflow.workspace.serving import LiveRun

DOCUMENT = """\b
A small document, hello.yaml:
  inputs:
    name: {type: string, description: Who is greeted}
  nodes:
    - {id: greet, type: shell, params: {command: "echo Hello ${name}"}}
  outputs:
    text: "${greet.stdout}"
"""

RUN_EXAMPLE = f"""{DOCUMENT}
\b
  pflow run hello.yaml --name Ada
  pflow workflow save hello.yaml hello
  pflow hello name=Ada

\b
`pflow run WORKFLOW --help` shows the inputs of a workflow, `pflow guide` how to write one.
"""

VALIDATE_EXAMPLE = f"""{DOCUMENT}
\b
  pflow validate hello.yaml
  pflow run hello.yaml --name Ada

\b
`pflow guide` shows how to write workflows.
"""


class RunCommand(click.Command):
    """Takes flags that it does not know for inputs of the workflow, whose help it shows where one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line."""
        if not ctx.resilient_parsing and not {"-h", "--help"}.isdisjoint(args):
            options, *_ = self.make_parser(ctx).parse_args([*args])
            word, asked = options.get("workflow"), self.get_help_option(ctx)
            if (
                asked
                and options.get(asked.name)
                and isinstance(word, str)
                and (word == "-" or not word.startswith("-"))
            ):
                console = ctx.ensure_object(Console)
                console.json = console.json or bool(options.get("json"))
                call = start_of_call(word, short=SHORTHAND in ctx.meta)
                show_workflow_help(console, ctx, _find(ctx, console, word), call)
                ctx.exit()
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Flags of the workflow's inputs, then pflow's own options."""
        return [*complete_input_flag(ctx, incomplete), *super().shell_complete(ctx, incomplete)]


@click.command(
    cls=RunCommand,
    short_help="Run a workflow.",
    epilog=RUN_EXAMPLE,
    context_settings={"ignore_unknown_options": True},
)
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("inputs", nargs=-1, metavar="[INPUTS]...", shell_complete=complete_input)
@click.option(
    "-i",
    "--inputs",
    "file",
    metavar="FILE",
    shell_complete=complete_file,
    help="Read inputs from a JSON or YAML file.",
)
@click.option("--only", metavar="STEP", help="Run this step alone, with the values of another run; see --from-run.")
@click.option(
    "--from-run", metavar="RUN", shell_complete=complete_run, help="The run that has what comes before --only STEP."
)
@click.option(
    "--state",
    metavar="FILE",
    shell_complete=complete_file,
    help="Try it with the state in a JSON or YAML file, or with `none`; nothing is kept.",
)
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@click.option("--detach", is_flag=True, help="Leave the run to others to drive, and print its id.")
@click.option(
    "--record",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    shell_complete=complete_file,
    help="Write what its steps were asked and gave to a cassette, WORKFLOW.cassette.jsonl or FILE.",
)
@click.option("--repair", is_flag=True, help="If it fails, have a model mend the workflow, ask, and go on.")
@click.option("--yes", is_flag=True, help="With --repair: agree to what the model changes.")
@click.option("--dry-run", is_flag=True, help="Check everything and draw the graph; run nothing.")
@drawing_options
@place_option()
@queue_option("With --on: the queue of the place whose workers drive it.")
@with_console
@click.pass_context
def run(
    ctx: click.Context,
    console: Console,
    workflow: str,
    inputs: tuple[str, ...],
    file: str | None,
    only: str | None,
    from_run: str | None,
    state: str | None,
    no_cache: bool,
    detach: bool,
    record: str | None,
    repair: bool,
    yes: bool,
    dry_run: bool,
    svg: str | None,
    mermaid: bool,
    queue: str | None,
) -> int:
    """Run WORKFLOW: a saved name, a path, or `-` for a document on stdin.

    Inputs are written `--name value`, `--name=value` or `name=value`; each value is read as the type that the
    workflow declares. An input named `stdin` takes what is piped in.
    """
    if workflow.startswith("-") and workflow != "-":
        raise _misplaced(ctx, workflow)
    if (only is None) != (from_run is None):
        raise UsageError(
            "`--only` and `--from-run` go together: a step, and the run that has what comes before it",
            suggestions=["pflow run WORKFLOW --only STEP --from-run RUN", "`pflow runs list` shows the runs"],
        )
    checked = _find(ctx, console, workflow)
    plan = checked.runnable()
    if state is not None and "state" in plan.inputs:  # an input of that name was there before the option
        inputs, state = (*inputs, f"state={state}"), None
    if record is not None and "record" in plan.inputs:
        inputs, record = (*inputs, f"record={record}"), None
    elif record and "=" in record and not record.endswith(".jsonl"):  # the word after the option is an input
        inputs, record = (*inputs, record), ""
    if queue is not None and "queue" in plan.inputs:
        inputs, queue = (*inputs, f"queue={queue}"), None
    chosen = read_queue(queue)
    if chosen and not console.on:
        raise UsageError(
            "`--queue` is for places: it says whose workers drive the run",
            suggestions=["name the place with `--on PLACE`, or leave out `--queue`"],
        )
    if state is not None and only is not None:
        raise UsageError(
            "`--state` cannot be combined with `--only`: the step finds the state that the other run found",
            suggestions=["leave out `--state`"],
        )
    typed = read_words(plan.inputs, inputs, workflow=workflow, options=own_options(ctx.command))
    given = {**(read_inputs(console, file) if file else {}), **typed}
    try:
        if dry_run or svg or mermaid:
            check_given(plan, given)
            show_graph(console, plan, svg=svg, mermaid=mermaid)
            return 0
        if has_stdin() and "-" not in (workflow, file) and "stdin" in plan.inputs and "stdin" not in given:
            given["stdin"] = read_stdin(console, what="input `stdin`")
        if only is not None and from_run is not None:
            return _run_only(console, checked, only, from_run, given, cache=not no_cache, queue=chosen)

        trial = None if state is None else _read_trial(console, state)

        def begin(workspace: Workspace) -> LiveRun:
            return workspace.begin(checked, given, text=True, cache=not no_cache, state=trial, queue=chosen)

        if detach:
            return detach_run(console, begin)
        outcome = run_watched(console, begin)
        if record is not None:
            from pflow.cli.testing.recording import record_outcome  # lazy: few runs are recorded

            return record_outcome(console, outcome, plan.name, record)
    except InputError as error:
        raise explain_inputs(error, plan, ["run", workflow], typed) from None
    if outcome.status == "failed" and (repair or console.can_ask()):
        from pflow.cli.planning.repair import offers_repair, repair_run  # lazy: only for runs that failed

        if repair or offers_repair(console):
            return repair_run(console, outcome, asked=repair, yes=yes)
    return show_outcome(console, outcome)


def _run_only(
    console: Console, checked: Checked, step: str, run: str, given: Mapping[str, object], *, cache: bool, queue: str
) -> int:
    """Run a single step with what a run did before it."""
    outcome = run_watched(
        console,
        lambda workspace: workspace.again.begin_only(checked, step, run, given, text=True, cache=cache, queue=queue),
    )
    if outcome.success and not outcome.completed:
        console.remark(f"`{escape(step)}` was skipped: its condition is false")
    return show_outcome(console, outcome)


def _read_trial(console: Console, word: str) -> dict[str, object]:
    """The state that a run is tried with."""
    return {} if word == "none" else read_inputs(console, word, what="state")


def _find(ctx: click.Context, console: Console, word: str) -> Checked:
    """The workflow that a word means, checked."""
    try:
        return check_workflow(console, find_workflow(console, word), word)
    except NotFoundError as error:
        raise explain_missing(console, word, error) if SHORTHAND in ctx.meta else error from None


def _misplaced(ctx: click.Context, flag: str) -> UsageError:
    """The error for a flag before the workflow that is not an option of pflow's own."""
    known = own_options(ctx.command)
    name = flag.partition("=")[0]  # the value may be a secret
    shown = shorten(name)
    return UsageError(
        f"no such option `{shown}`",
        suggestions=[
            did_you_mean(name, known) or f"inputs come after the workflow: `pflow run WORKFLOW {shown}`",
            ctx.get_usage().replace("Usage: ", "usage: ", 1),
        ],
    )


@click.command(short_help="Check a workflow without running it.", epilog=VALIDATE_EXAMPLE)
@click.argument("workflow", shell_complete=complete_workflow)
@with_console
def validate(console: Console, workflow: str) -> None:
    """Check WORKFLOW and report everything that would stop it from running. Starts nothing."""
    checked = check_workflow(console, find_workflow(console, workflow), workflow)
    plan = checked.runnable()
    count = len(plan.drawn.nodes)
    text = f"`{escape(plan.name or workflow)}` is valid: {count} node{'s' * (count != 1)}"
    if checked.notices:
        console.warn(checked.notices)
    answer = {
        "valid": True,
        "name": plan.name,
        "nodes": count,
        "inputs": list(plan.inputs),
        "warnings": [issue.as_dict() for issue in checked.warnings],
        "notices": [issue.as_dict() for issue in checked.notices],
    }
    console.reply(answer, text)


def explain_missing(console: Console, word: str, error: NotFoundError) -> NotFoundError:
    """A first word that is not a workflow may have been meant as a command or a node type."""
    # lazy: only an error needs them
    from pflow.cli.other_command import OTHER_COMMANDS
    from pflow.core.library.reference import is_path
    from pflow.core.suggest import nearest

    if is_path(word):
        return error

    types = [entry.name for entry in console.workspace().node_types()]
    if word in types:
        return NotFoundError(
            f"`{word}` is a node type, and no workflow is saved under that name",
            suggestions=[f"its parameters are flags: `pflow {word} --name=value`", *error.suggestions],
        )
    near = [f"did you mean `pflow {name}`?" for name in nearest(word, [*COMMANDS, *types], limit=2)]
    if word in OTHER_COMMANDS:
        near = [f"did you mean `{OTHER_COMMANDS[word]}`?"]
    return NotFoundError(
        f"`{word}` is not a command, a saved workflow or a node type",
        suggestions=[
            *(near or error.suggestions),
            "see `pflow --help`, `pflow workflow list` and `pflow registry list`",
        ],
    )
