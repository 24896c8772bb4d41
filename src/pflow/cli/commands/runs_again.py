"""`pflow runs fork` and `pflow runs settle`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow, read_inputs, read_params
from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_file, complete_run, complete_step, complete_workflow
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.cli.run_report import detach_run, run_watched, show_outcome
from pflow.cli.text import quote
from pflow.core.errors import DocumentError, InputError, UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.core.event import Settlement
    from pflow.workspace import Workspace
    from pflow.workspace.serving import LiveRun


@click.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("inputs", nargs=-1, metavar="[key=value]...")
@click.option(
    "--from", "step", required=True, metavar="STEP", shell_complete=complete_step, help="The first step that runs."
)
@click.option(
    "--with",
    "edited",
    metavar="WORKFLOW",
    shell_complete=complete_workflow,
    help="Go on with an edited workflow: what changed before STEP runs again as well.",
)
@click.option("--rerun-in-doubt", is_flag=True, help="Run steps beside STEP again that may have taken effect already.")
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@click.option("--detach", is_flag=True, help="Leave the run to others to drive, and print its id.")
@place_option()
@with_console
def fork(
    console: Console,
    run: str,
    inputs: tuple[str, ...],
    step: str,
    edited: str | None,
    rerun_in_doubt: bool,
    no_cache: bool,
    detach: bool,
) -> int:
    """Begin a new run that keeps what RUN did before STEP and goes on from there. RUN stays as it is."""
    params = read_params(inputs)
    found = find_workflow(console, edited) if edited is not None else None

    def begin(workspace: Workspace) -> LiveRun:
        return workspace.again.begin_fork(
            run, step, edited=found, params=params, text=True, rerun_in_doubt=rerun_in_doubt, cache=not no_cache
        )

    try:
        if detach:
            return detach_run(console, begin)
        outcome = run_watched(console, begin)
    except DocumentError:
        if found is not None and edited is not None:
            check_workflow(console, found, edited)
        raise
    except InputError as error:
        raise explain_missing(error, ["fork", run, "--from", step], inputs) from None
    return show_outcome(console, outcome)


def explain_missing(error: InputError, words: Sequence[str], inputs: Sequence[str]) -> InputError:
    """The error with the command that would work once every secret is stored: they are needed again."""
    if not error.missing:
        return error
    names = [word.partition("=")[0] for word in inputs]  # what is given here is mostly secret
    command = ["pflow", "runs", *map(quote, words), *(f"{name}=…" for name in names)]
    return InputError(error.message, details=error.details, suggestions=[*error.suggestions, " ".join(command)])


@click.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("words", nargs=-1, required=True, metavar="STEP... [key=value]...", shell_complete=complete_step)
@click.option("--done", is_flag=True, help="It took effect, with the outputs that are given.")
@click.option("--rerun", is_flag=True, help="It is to run again when the run is resumed.")
@click.option(
    "--outputs",
    metavar="FILE or JSON",
    shell_complete=complete_file,
    help="Its outputs: an object, or a JSON or YAML file with one.",
)
@click.option("--action", default="default", metavar="ACTION", help="The action with which it ended.")
@place_option()
@with_console
def settle(
    console: Console, run: str, words: tuple[str, ...], done: bool, rerun: bool, outputs: str | None, action: str
) -> None:
    """Say what became of a STEP of RUN that is in doubt, so that the run can go on.

    STEP is a step such as `upload`, an item such as `fetch[17]`, or a step of a sub-workflow such as `deploy/push`. A
    batch or a sub-workflow means everything in it that is in doubt.
    """
    if done == rerun:
        raise UsageError(
            "say what became of it: `--done` or `--rerun`",
            suggestions=["`--done` if it took effect, `--rerun` if it did not, or may do so twice"],
        )
    steps = [word for word in words if "=" not in word]
    if not steps:
        raise UsageError("no step is named", suggestions=["name the steps before their outputs"])
    given = _read_outputs(console, outputs) if outputs is not None else {}
    outcome: Settlement = "done" if done else "rerun"
    settled = console.workspace().again.settle(
        run,
        steps,
        outcome,
        outputs={**given, **read_params(word for word in words if "=" in word)},
        action=action,
        text=True,
        by=_who(),
    )
    names = ", ".join(map(escape, settled.steps))
    lines = [f"settled as done: {names}" if done else f"to run again: {names}"]
    if settled.left:
        lines.append(f"still in doubt: {', '.join(map(escape, settled.left))}")
    else:
        console.remark(f"hint: pflow runs resume {settled.run_id}")
    console.reply({**settled._asdict(), "outcome": outcome}, "\n".join(lines))


def _read_outputs(console: Console, word: str) -> dict[str, object]:
    """Outputs from an object on the command line, or from a file."""
    if not word.lstrip().startswith("{"):
        return read_inputs(console, word)
    import orjson  # lazy: most commands read no JSON

    try:
        value = orjson.loads(word)
    except ValueError as error:
        raise UsageError(f"the outputs are not JSON: {error}", suggestions=['write {"name": value, …}']) from None
    return dict(value)


def _who() -> str:
    from pflow.workspace.asking.who import user_name  # lazy: only for what is recorded with a name

    return user_name()
