"""What a project brings along, as text for the person who decides about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.cli.console import Console
    from pflow.core.project.agreement import Difference
    from pflow.workspace.project import ProjectView

_STATES = {
    "agreed": "agreed to",
    "new": "not agreed to, so it is not used",
    "changed": "changed since you agreed to it, so it is not used",
    "declined": "declined, so it is not used",
    "refused": "refused, so it is not used",
    "empty": "brings nothing",
}


def render_project(found: ProjectView) -> list[str]:
    """A folder: how it stands, what it brings, and what changed."""
    lines = [f"{escape(str(found.folder))}: {_STATES[found.state]}"]
    if found.reason:
        lines.append(f"  {escape(found.reason)}")
    if found.workflows:
        lines.append("  workflows")
        lines += columns([(escape(name), shorten(about, 80)) for name, about in found.workflows], indent="    ")
    if found.nodes:
        lines.append("  nodes (Python code that runs as you, with your files and credentials)")
        lines += [f"    {escape(file)}" for file in found.nodes]
    if found.options:
        lines.append("  options")
        lines += [f"    {key} = {escape(str(value).lower())}" for key, value in found.options]
    if found.difference:
        lines += _render_difference(found.difference)
    return [*lines, *(f"  note: {escape(problem)}" for problem in found.problems)]


def ask_about(console: Console, found: ProjectView) -> bool:
    """Show what a project brings, and ask whether it may be used."""
    console.say("this directory belongs to a project that brings its own workflows:")
    console.say("\n".join(render_project(found)))
    return click.confirm("use it? It is asked again only when its files change", default=False, err=True)


def _render_difference(difference: Difference) -> list[str]:
    signs = (
        ("added", "+", difference.added),
        ("changed", "~", difference.changed),
        ("removed", "-", difference.removed),
    )
    lines = [f"    {sign} {escape(file)} ({word})" for word, sign, files in signs for file in files]
    return ["  since you last agreed", *lines] if lines else []
