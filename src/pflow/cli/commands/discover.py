"""`pflow registry discover` and `pflow workflow discover`: finds by a description of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.core.interface import named_fields
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.planning.discovery import Findings, Hit

_LINE_CHARACTERS = 110
_MOST_NAMES = 8

_limit = click.option("--limit", type=click.IntRange(1, 50), metavar="N", help="At most N of them.")

_rerank = click.option("--rerank", is_flag=True, help="Have the configured model order the best twenty.")


@click.command("discover", short_help="Find node types for a task.")
@click.argument("task", nargs=-1, required=True)
@_limit
@_rerank
@with_console
def discover_nodes(console: Console, /, task: tuple[str, ...], **options: object) -> None:
    """Find node types to build TASK with, tools of MCP servers among them, best first.

    For a task in your own words. For a word that you know to be in a name, use `pflow registry search`.
    """
    _show(console, console.workspace().discovery.discover_nodes, task, options)


@click.command("discover", short_help="Find saved workflows for a task.")
@click.argument("query", nargs=-1, required=True)
@click.option("--drafts", is_flag=True, help="Also those that are still being worked on.")
@_limit
@_rerank
@with_console
def discover_workflows(console: Console, /, query: tuple[str, ...], **options: object) -> None:
    """Find saved workflows that do what QUERY says, best first."""
    _show(console, console.workspace().discovery.discover_workflows, query, options)


def _show(console: Console, find: Callable[..., Findings], words: Sequence[str], options: Mapping[str, object]) -> None:
    findings = find(" ".join(words), **{name: value for name, value in options.items() if value is not None})
    console.reply(findings.to_json(), "\n\n".join(_hit(hit) for hit in findings.hits))
    console.remark(*_remarks(findings))


def _hit(hit: Hit) -> str:
    title = f"{escape(hit.name)}  {hit.score:.0%}  {shorten(hit.description, _LINE_CHARACTERS)}".rstrip()
    kind = [("draft", "still being worked on")] if hit.kind == "draft" else []
    takes, gives = _fields(hit)
    why = shorten("; ".join(f"{field}: {', '.join(words)}" for field, words in hit.why.items()), _LINE_CHARACTERS)
    rows = [*kind, ("found", why), ("takes", takes), ("gives", gives)]
    return "\n".join([title, *columns([row for row in rows if row[1]])])


def _fields(hit: Hit) -> tuple[str, str]:
    """The names that something takes and gives; those it can do without in brackets."""
    interface = hit.about.get("interface", hit.about)
    about = interface if isinstance(interface, Mapping) else {}
    taken = [field for group in ("params", "inputs", "reads") for field in named_fields(about.get(group))]
    given = [(name, True) for name, _ in named_fields(about.get("outputs"))]
    return _names([(name, field.get("required") is True) for name, field in taken]), _names(given)


def _names(fields: list[tuple[str, bool]]) -> str:
    ordered = sorted(fields, key=lambda field: not field[1])
    shown = [shorten(name if needed else f"[{name}]", 40) for name, needed in ordered[:_MOST_NAMES]]
    return ", ".join([*shown, *([f"… {len(fields) - _MOST_NAMES} more"] if len(fields) > _MOST_NAMES else [])])


def _remarks(findings: Findings) -> list[str]:
    unknown = ", ".join(f"`{shorten(word, 40)}`" for word in findings.unknown[:_MOST_NAMES])
    notes = [f"hint: {escape(note)}" for note in findings.notes]
    if findings.hits:
        return [f"\nranked by {findings.ranking}" + (f"; nothing has {unknown}" if unknown else ""), *notes]
    advice = [f"hint: {escape(advice)}" for advice in findings.advice]
    return [f"nothing matches `{findings.query}`", "", *notes, *advice]
