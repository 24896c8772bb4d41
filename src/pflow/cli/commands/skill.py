"""`pflow skill …`: teach an agent to use pflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.completion import complete_from
from pflow.cli.console import Console
from pflow.cli.file_change import agree_to_change, escape_lines, person_folder, say_kept
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace.skill.install import SkillFile

_HOSTS = ("claude", "codex", "cursor")


@click.group(cls=CommandGroup)
def skill() -> None:
    """Teach an agent to use pflow.

    A skill is a page that an agent reads when a task fits it. HOST is claude, codex or cursor.
    """


@skill.command()
@with_console
def show(console: Console) -> None:
    """Print the skill, for agents that pflow does not know."""
    from pflow.workspace.skill.text import skill_text  # lazy: rarely used

    text = skill_text()
    console.reply({"text": text}, text)


@skill.command()
@click.argument("host", shell_complete=complete_from(_HOSTS))
@click.option("--project", is_flag=True, help="Only for the project in this directory.")
@click.option("--overwrite", is_flag=True, help="Replace a file that pflow did not write; a copy is kept.")
@click.option("--dry-run", is_flag=True, help="Show what would be written.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_console
def install(console: Console, host: str, project: bool, overwrite: bool, dry_run: bool, yes: bool) -> int:
    """Put the skill where HOST reads skills. It is shown first, whole."""
    from pflow.workspace.skill.install import check_free, install_skill  # lazy: rarely used

    found = _find(host, project)
    where = escape(str(found.path))
    if found.state == "same":
        console.reply({**found.view(), "installed": True}, f"`{where}` has it already")
        return 0
    check_free(found, overwrite=overwrite)
    if dry_run:
        said = f"would write `{where}`:\n\n{escape_lines(found.text)}"
        console.reply({**found.view(), "installed": False}, said)
        return 0
    if not agree_to_change(console, found.path, found.text, "this becomes", yes=yes):
        return 1
    backup = install_skill(found, overwrite=overwrite)
    shown = {**found.view(), "installed": True, "backup": str(backup) if backup else None}
    console.reply(shown, f"wrote `{where}`{say_kept(backup)}\nnew sessions of {escape(host)} know it")
    return 0


@skill.command()
@click.argument("host", shell_complete=complete_from(_HOSTS))
@click.option("--project", is_flag=True, help="From the project in this directory.")
@click.option("--overwrite", is_flag=True, help="Also if it was changed by hand; a copy is kept.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_console
def uninstall(console: Console, host: str, project: bool, overwrite: bool, dry_run: bool, yes: bool) -> int:
    """Remove the skill from HOST."""
    from pflow.workspace.skill.install import check_removable, remove_skill  # lazy: rarely used

    found = _find(host, project)
    where = escape(str(found.path))
    if found.state == "new":
        console.reply({**found.view(), "removed": False}, f"there is no `{where}`")
        return 0
    check_removable(found, overwrite=overwrite)
    if dry_run:
        console.reply({**found.view(), "removed": False}, f"would remove `{where}`")
        return 0
    present = (found.before or b"").decode(errors="replace")
    if not agree_to_change(console, found.path, present, "this is deleted with", yes=yes):
        return 1
    backup = remove_skill(found, overwrite=overwrite)
    shown = {**found.view(), "removed": True, "backup": str(backup) if backup else None}
    console.reply(shown, f"removed `{where}`{say_kept(backup)}")
    return 0


def _find(host: str, project: bool) -> SkillFile:
    from pflow.workspace.skill.install import find_skill  # lazy: rarely used

    folder = Path.cwd() if project else None
    return find_skill(host, person=person_folder(), environ=os.environ, project=folder)
