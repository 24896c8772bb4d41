"""`pflow mcp install`: lets another program use pflow."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pflow.cli.command_group import with_console
from pflow.cli.commands.mcp_sync import asking
from pflow.cli.console import Console
from pflow.core.errors import UsageError
from pflow.core.printable import escape


@click.command()
@click.argument("host", metavar="claude|cursor|vscode|codex|gemini")
@click.option("--name", default="pflow", show_default=True, help="What the server is called there.")
@click.option("--toolset", type=click.Choice(["full", "core"]), default="full", show_default=True)
@click.option("--overwrite", is_flag=True, help="Replace another server of that name.")
@click.option("--dry-run", is_flag=True, help="Show what would be written.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_console
def install(console: Console, host: str, name: str, toolset: str, overwrite: bool, dry_run: bool, yes: bool) -> int:
    """Put pflow among the MCP servers of another program. The entry is shown first, and the file backed up."""
    # lazy: rarely used
    from pflow.workspace import installation

    person = Path(os.environ.get("HOME") or Path.home())
    plan = installation.plan_installation(host, person=person, environ=os.environ, name=name, toolset=toolset)
    where = escape(str(plan.path))
    if plan.state == "same":
        console.reply({**plan.view(), "installed": True}, f"`{where}` has it already")
        return 0
    installation.check_free(plan, overwrite=overwrite)
    if dry_run:
        console.reply({**plan.view(), "installed": False}, f"would write to `{where}`:\n\n{escape_lines(plan.snippet)}")
        return 0
    ask = asking(console, yes)
    if ask is None:
        raise UsageError(
            f"nobody can agree to a change of `{where}`",
            suggestions=["look at it with `--dry-run`, then add `--yes`"],
        )
    if not ask(f"this goes into `{where}`:\n\n{escape_lines(plan.snippet)}\n"):
        console.say("nothing was changed")
        return 1
    backup = installation.install(plan, overwrite=overwrite)
    kept = f"\nwhat it was before is in `{escape(str(backup))}`" if backup else ""
    shown = {**plan.view(), "installed": True, "backup": str(backup) if backup else None}
    console.reply(shown, f"added `{escape(name)}` to `{where}`{kept}\nrestart {host} to use it")
    return 0


def escape_lines(text: str) -> str:
    """Several lines, escaped."""
    return "\n".join(escape(line) for line in text.split("\n"))
