"""`pflow mcp install` and `uninstall`: let another program use pflow, and take it out again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_from
from pflow.cli.console import Console
from pflow.cli.file_change import agree_to_change, escape_lines, person_folder, say_kept
from pflow.core.errors import ExistsError, UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace.installation import Installation

_NAMES = ("claude", "claude-desktop", "cursor", "vscode", "codex", "gemini", "windsurf", "opencode", "zed", "cline")
HOST_HELP = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"


@click.command(
    help=f"""Put pflow among the MCP servers of another program.

HOST is {HOST_HELP}. The entry is shown first, and the file backed up."""
)
@click.argument("host", shell_complete=complete_from(_NAMES))
@click.option("--name", default="pflow", show_default=True, help="What the server is called there.")
@click.option("--toolset", type=click.Choice(["full", "core"]), default="full", show_default=True)
@click.option("--project", is_flag=True, help="Only for the project in this directory, in the file that goes with it.")
@click.option("--overwrite", is_flag=True, help="Replace another server of that name.")
@click.option("--dry-run", is_flag=True, help="Show what would be written.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_console
def install(
    console: Console,
    host: str,
    name: str,
    toolset: str,
    project: bool,
    overwrite: bool,
    dry_run: bool,
    yes: bool,
) -> int:
    # lazy: rarely used
    from pflow.workspace import installation

    folder = Path.cwd() if project else None
    plan = installation.plan_installation(
        host, person=person_folder(), environ=os.environ, name=name, toolset=toolset, project=folder
    )
    where = escape(str(plan.path))
    if plan.state == "same":
        console.reply({**plan.view(), "installed": True}, f"`{where}` has it already")
        return 0
    installation.check_free(plan, overwrite=overwrite)
    if plan.after is None:
        return _by_hand(console, plan, installation.describe_by_hand(plan))
    if dry_run:
        console.reply({**plan.view(), "installed": False}, f"would write to `{where}`:\n\n{escape_lines(plan.snippet)}")
        return 0
    if not agree_to_change(console, plan.path, plan.snippet, "this goes into", yes=yes):
        return 1
    backup = installation.install(plan, overwrite=overwrite)
    shown = {**plan.view(), "installed": True, "backup": str(backup) if backup else None}
    console.reply(shown, f"added `{escape(name)}` to `{where}`{say_kept(backup)}\nrestart {host} to use it")
    return 0


@click.command(
    help=f"""Take pflow out of another program again, and leave all else there as it is.

HOST is {HOST_HELP}."""
)
@click.argument("host", shell_complete=complete_from(_NAMES))
@click.option("--name", default="pflow", show_default=True, help="What the server is called there.")
@click.option("--project", is_flag=True, help="From the file of the project in this directory.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken out.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_console
def uninstall(console: Console, host: str, name: str, project: bool, dry_run: bool, yes: bool) -> int:
    # lazy: rarely used
    from pflow.workspace import installation

    folder = Path.cwd() if project else None
    plan = installation.plan_removal(host, person=person_folder(), environ=os.environ, name=name, project=folder)
    where = escape(str(plan.path))
    if plan.state == "new":
        console.reply({**plan.view(), "removed": False}, f"`{where}` has no server `{escape(name)}`")
        return 0
    if plan.state == "other":
        raise ExistsError(
            f"`{where}` has another server `{escape(name)}`, which is not pflow",
            suggestions=["take it out by hand if it should go"],
        )
    if plan.state == "unclear":
        return _by_hand(console, plan, "take this out by hand")
    if dry_run:
        said = f"would take this out of `{where}`:\n\n{escape_lines(plan.snippet)}"
        console.reply({**plan.view(), "removed": False}, said)
        return 0
    if not agree_to_change(console, plan.path, plan.snippet, "this goes out of", yes=yes):
        return 1
    backup = installation.remove(plan)
    shown = {**plan.view(), "removed": True, "backup": str(backup)}
    console.reply(shown, f"took `{escape(name)}` out of `{where}`{say_kept(backup)}")
    return 0


def _by_hand(console: Console, plan: Installation, what: str) -> int:
    """Show a change that pflow does not dare to make, in lines that can be pasted; returns the exit code."""
    error = UsageError(
        f"`{plan.path}` is written in a way that pflow cannot safely change", details={"snippet": plan.snippet}
    )
    if console.json:
        raise error
    console.say(f"error: {escape(error.message)}\n\nhint: {what}:\n\n{escape_lines(plan.snippet)}")
    return error.exit_code
