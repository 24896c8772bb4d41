"""`pflow run` and `pflow validate`."""

from __future__ import annotations

import click

from pflow.cli.argument import check_workflow, find_workflow, has_stdin, read_inputs, read_params, read_stdin
from pflow.cli.command_group import SHORTHAND, with_console
from pflow.cli.command_table import COMMANDS
from pflow.cli.completion import complete_input, complete_workflow
from pflow.cli.console import Console
from pflow.cli.picture import drawing_options, show_graph
from pflow.cli.run_report import check_given, explain_inputs, run_watched, show_outcome
from pflow.core.errors import InputError, NotFoundError
from pflow.core.printable import escape


@click.command(short_help="Run a workflow.")
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("inputs", nargs=-1, metavar="[key=value]...", shell_complete=complete_input)
@click.option("-i", "--inputs", "file", metavar="FILE", help="Read inputs from a JSON or YAML file.")
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@click.option("--dry-run", is_flag=True, help="Check everything and draw the graph; run nothing.")
@drawing_options
@with_console
@click.pass_context
def run(
    ctx: click.Context,
    console: Console,
    workflow: str,
    inputs: tuple[str, ...],
    file: str | None,
    no_cache: bool,
    dry_run: bool,
    svg: str | None,
    mermaid: bool,
) -> int:
    """Run WORKFLOW: a saved name, a path, or `-` for a document on stdin.

    Inputs are words `key=value`; each value is read as the type that the workflow declares. An input named
    `stdin` takes what is piped in.
    """
    given: dict[str, object] = {**(read_inputs(console, file) if file else {}), **read_params(inputs)}
    found = find_workflow(console, workflow)
    try:
        checked = check_workflow(console, found, workflow)
    except NotFoundError as error:
        raise explain_missing(console, workflow, error) if SHORTHAND in ctx.meta else error from None
    plan = checked.runnable()
    try:
        if dry_run or svg or mermaid:
            check_given(plan, given)
            show_graph(console, plan, svg=svg, mermaid=mermaid)
            return 0
        if has_stdin() and "-" not in (workflow, file) and "stdin" in plan.inputs and "stdin" not in given:
            given["stdin"] = read_stdin(console, what="input `stdin`")
        outcome = run_watched(console, lambda workspace: workspace.begin(checked, given, text=True, cache=not no_cache))
    except InputError as error:
        raise explain_inputs(error, plan, workflow, inputs) from None
    return show_outcome(console, outcome)


@click.command(short_help="Check a workflow without running it.")
@click.argument("workflow", shell_complete=complete_workflow)
@with_console
def validate(console: Console, workflow: str) -> None:
    """Check WORKFLOW and report everything that would stop it from running. Starts nothing."""
    checked = check_workflow(console, find_workflow(console, workflow), workflow)
    plan = checked.runnable()
    count = len(plan.nodes)
    text = f"`{escape(plan.name or workflow)}` is valid: {count} node{'s' * (count != 1)}"
    warnings = [issue.as_dict() for issue in checked.warnings]
    answer = {"valid": True, "name": plan.name, "nodes": count, "inputs": list(plan.inputs), "warnings": warnings}
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


def check_start(console: Console, words: list[str]) -> None:
    """Words that `run` cannot use most likely follow a mistyped command or node type; do not blame the words."""
    known = {name for param in run.params for name in param.opts}
    if all(word.partition("=")[0] in known if word.startswith("-") else "=" in word for word in words[1:]):
        return
    try:
        console.workspace().check(words[0])
    except NotFoundError as error:
        raise explain_missing(console, words[0], error) from None
