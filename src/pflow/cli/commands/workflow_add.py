"""`pflow workflow add`: takes a workflow of someone else into the library, after showing what it can do."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.commands.workflow_setup import server_words
from pflow.cli.commands.workflow_text import show_origin
from pflow.cli.console import Console
from pflow.core.errors import UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.core.document.document import Requirements
    from pflow.execution.need.ability import Ability
    from pflow.workspace.sharing.sharing import Candidate, Candidates

_VERBS: Mapping[str, str] = {
    "command": "runs the command",
    "python": "runs Python code",
    "read": "reads",
    "write": "changes files at",
    "network": "talks to",
    "tool": "calls the MCP tool",
    "secret": "is given",
    "ask": "asks",
    "workflow": "runs the workflow",
    "unknown": "does",
}
_MOST_NODES = 20
"""Files of nodes that are named; none of them is added."""


@click.command()
@click.argument("source", metavar="FILE|FOLDER|GIT-URL")
@click.option("--as", "name", metavar="NAME", default="", help="The name to save it under.")
@click.option("--ref", default="", help="The branch, tag or commit of a repository.")
@click.option("--yes", is_flag=True, help="Add it without being asked.")
@click.option("--overwrite", is_flag=True, help="Replace what is saved under that name; its versions are kept.")
@with_console
def add(console: Console, source: str, name: str, ref: str, yes: bool, overwrite: bool) -> int:
    """Take the workflow in FILE, those in FOLDER, or those of a git repository into the library.

    Shows first what each can do, what it requires and what of that is missing. Nothing of it is run.
    """
    sharing = console.workspace().sharing
    found = sharing.look(source, name=name, ref=ref)
    if not console.json:
        console.say("\n".join(_show(found)))
    new = [each for each in found.workflows if not each.is_same]
    conflict = any(each.replaces is not None for each in new) and not overwrite
    if new and not yes and not conflict and not _agrees(console, new):
        console.remark("nothing was added")
        return 2
    added = sharing.take(found.workflows, overwrite=overwrite)
    console.reply(
        {
            "added": added,
            "workflows": [each.as_dict() for each in found.workflows],
            "nodes": list(found.nodes),
            "skipped": list(found.skipped),
        },
        "\n".join(f"added `{escape(each)}`" for each in added) or "the library has it already",
    )
    for each in found.workflows:
        if each.missing and each.name in added:
            console.remark(f"hint: pflow workflow setup {each.name}")
    return 0


def _agrees(console: Console, new: list[Candidate]) -> bool:
    if console.json or not sys.stdin or not sys.stdin.isatty():
        raise UsageError(
            "nobody can be asked whether to add it", suggestions=["read what it can do, and say `--yes` if you agree"]
        )
    what = f"`{new[0].name}`" if len(new) == 1 else f"these {len(new)} workflows"
    return click.confirm(f"add {what} to the library?", default=False, err=True)


def _show(found: Candidates) -> list[str]:
    lines = [line for each in found.workflows for line in [*_show_candidate(each), ""]]
    if found.nodes:
        lines.append("node types come with it and are not added, since they are programs:")
        lines += [f"  {escape(node)}" for node in found.nodes[:_MOST_NODES]]
        lines += ["  read them, and copy those that you trust to `~/.pflow/nodes/`", ""]
    lines += [f"left out: {escape(each)}" for each in found.skipped]
    return lines[:-1] if lines and not lines[-1] else lines


def _show_candidate(each: Candidate) -> list[str]:
    lines = [f"workflow `{escape(each.name)}`"]
    if each.description:
        lines.append(f"  it says: {escape(each.description)}")
    lines += [f"  {line}" for line in show_origin({"origin": each.origin.as_dict()})]
    if each.is_same:
        return [*lines, "  the library has this very text already"]
    lines.append("  what its steps can do:" if each.abilities else "  its steps reach nothing outside of the run")
    for ability in each.abilities:
        lines += [f"    {line}" for line in show_ability(ability)]
    lines += [f"  {line}" for line in _show_requires(each.requires)]
    if each.missing:
        lines += ["  missing here:", *(f"    {escape(one)}" for one in each.missing)]
    if each.replaces is not None:
        lines += ["  it differs from what is saved under this name:"]
        lines += [f"    {escape(line)}" for line in each.replaces.lines]
    return lines


def _show_requires(requires: Requirements | None) -> list[str]:
    """What a document requires, whole: a server is what it starts or talks to."""
    if requires is None:
        return []
    lines = [f"it requires pflow {requires.pflow}"] if requires.pflow else []
    lines += [f"it requires the server {escape(name)}: {server_words(one)}" for name, one in requires.servers.items()]
    for what, names in (("settings", requires.settings), ("programs", requires.programs)):
        if names:
            lines.append(f"it requires the {what} {', '.join(names)}")
    return lines


def show_ability(ability: Ability) -> list[str]:
    """One thing that a step can do, whole: what is cut here could be the point of it. Each line is escaped."""
    head = f"{escape(ability.step)} {_VERBS[ability.kind]}"
    text = ability.what.strip("\n").split("\n")
    if len(text) == 1:
        return [f"{head} {escape(text[0])}"]
    return [f"{head}:", *(f"  | {escape(line)}" for line in text)]
