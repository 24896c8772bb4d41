"""`pflow runs …`: taking runs up, and ending them; looking at them is in `pflow.cli.looking`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow, read_params
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.runs_again import explain_missing, fork, settle
from pflow.cli.completion import complete_run, complete_workflow
from pflow.cli.console import Console
from pflow.cli.looking.command import LOOKING
from pflow.cli.place.option import place_option
from pflow.cli.run_report import detach_run, run_watched, show_outcome
from pflow.core.errors import DocumentError, InputError

if TYPE_CHECKING:
    from pflow.workspace import Workspace
    from pflow.workspace.serving import LiveRun


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, compare, follow, resume, fork, settle and cancel runs.

    RUN is a run's id, the beginning of it, or `latest`; `changelog` is the newest run of that workflow, `changelog~1`
    the one before it, and `latest~2` two before the newest of all.
    """


for command in LOOKING:
    runs.add_command(command)


@runs.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("inputs", nargs=-1, metavar="[key=value]...")
@click.option(
    "--with",
    "edited",
    metavar="WORKFLOW",
    shell_complete=complete_workflow,
    help="Continue with an edited workflow: only what changed runs again.",
)
@click.option("--rerun-in-doubt", is_flag=True, help="Run steps again that may have taken effect already.")
@click.option(
    "--failed-items",
    is_flag=True,
    help="Run items again that batches went on without, and then the steps whose inputs they change.",
)
@click.option(
    "--item",
    "items",
    multiple=True,
    metavar="ITEM",
    help="Of the failed items only this one, such as 3 or fetch[3]; can be given several times.",
)
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@click.option("--detach", is_flag=True, help="Leave the run to others to drive, and print its id.")
@place_option()
@with_console
def resume(
    console: Console,
    run: str,
    inputs: tuple[str, ...],
    edited: str | None,
    rerun_in_doubt: bool,
    failed_items: bool,
    items: tuple[str, ...],
    no_cache: bool,
    detach: bool,
) -> int:
    """Take RUN up where it ended: completed steps are not run again."""
    params = read_params(inputs)
    again = items if failed_items or items else None
    found = find_workflow(console, edited) if edited is not None else None

    def begin(workspace: Workspace) -> LiveRun:
        return workspace.begin_resume(
            run,
            edited=found,
            params=params,
            text=True,
            rerun_in_doubt=rerun_in_doubt,
            failed_items=again,
            cache=not no_cache,
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
        raise explain_missing(error, ["resume", run], inputs) from None
    return show_outcome(console, outcome)


runs.add_command(fork)
runs.add_command(settle)


@runs.command()
@click.argument("run", shell_complete=complete_run)
@place_option()
@with_console
def cancel(console: Console, run: str) -> None:
    """End RUN for good."""
    run_id = console.workspace().find_run(run)
    status = console.workspace().cancel(run_id)
    text = f"asked the process that runs {run_id} to stop" if status == "requested" else f"cancelled {run_id}"
    console.reply({"run_id": run_id, "status": status}, text)
