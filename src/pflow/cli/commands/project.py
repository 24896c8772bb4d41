"""`pflow project …`: what the folder `.pflow` of a project brings along, and agreeing to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.console import Console
from pflow.cli.project_text import ask_about, render_project
from pflow.core.errors import SecurityError, UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace.project import ProjectView


@click.group(cls=CommandGroup)
def project() -> None:
    """See what a project brings along in its folder `.pflow`, and agree to it.

    Without PATH this is about the current directory and those above it.
    """


@project.command()
@click.argument("path", required=False)
@with_console
def show(console: Console, path: str | None) -> None:
    """What the project at PATH brings: workflows, nodes and options, and whether they are used."""
    found = console.workspace().projects.show(Path(path) if path else None)
    _reply(console, found)


@project.command()
@click.argument("path", required=False)
@click.option("--yes", is_flag=True, help="Agree without being asked, such as in CI.")
@with_console
def agree(console: Console, path: str | None, yes: bool) -> None:
    """Use what the project at PATH brings, as it is now."""

    def ask(found: ProjectView) -> bool:
        if yes:
            return True
        if not console.can_ask():
            raise UsageError(
                f"nobody can be asked whether `{found.folder}` may be used",
                suggestions=["look at it with `pflow project show`, then add `--yes`"],
            )
        return ask_about(console, found)

    found = console.workspace().projects.agree(ask, Path(path) if path else None)
    _reply(console, found)
    if not all(each.state in ("agreed", "empty") for each in found):
        raise SecurityError("not agreed to; nothing of it is used")


@project.command()
@click.argument("path", required=False)
@with_console
def forget(console: Console, path: str | None) -> None:
    """Take back what was agreed to about the project at PATH."""
    gone = console.workspace().projects.forget(Path(path) if path else None)
    said = [f"{escape(str(folder))}: no longer agreed to" for folder in gone]
    console.reply({"forgotten": [str(folder) for folder in gone]}, "\n".join(said) or "nothing was agreed to")


def _reply(console: Console, found: list[ProjectView]) -> None:
    if not found:
        console.remark("no project here brings anything: there is no folder `.pflow` in this directory or above it")
    lines = "\n".join(line for each in found for line in render_project(each))
    console.reply({"projects": [each.as_dict() for each in found]}, lines)
