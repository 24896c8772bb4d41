"""`pflow registry …`: the node types there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import orjson

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.discover import discover_nodes
from pflow.cli.commands.mcp_sync import add_mcp, migrate_mcp, refresh, test_connections
from pflow.cli.completion import complete_node, complete_param
from pflow.cli.console import Console
from pflow.cli.run_report import required, run_node, show_outcome
from pflow.core.errors import PflowError
from pflow.core.interface import MISSING, Field
from pflow.core.printable import columns, escape, shorten
from pflow.core.schema_path import SEEN, calls_seen, count_calls, paths

if TYPE_CHECKING:
    from pflow.workspace import Entry

_PURITY = {
    "pure": "pure: the same inputs give the same outputs; results are cached",
    "read": "reads only: it can safely run again",
    "impure": "has effects: it is never run again unasked",
}


@click.group(cls=CommandGroup)
def registry() -> None:
    """See which node types there are, and try them."""


@registry.command("list")
@click.option("--filter", "query", default="", metavar="TEXT", help="Only those that match.")
@with_console
def list_nodes(console: Console, query: str) -> int:
    """All node types."""
    return _show_list(console, console.workspace().node_types(query), query)


@registry.command()
@click.argument("query", nargs=-1, required=True)
@with_console
def search(console: Console, query: tuple[str, ...]) -> int:
    """Node types that match the words of QUERY, best first."""
    text = " ".join(query)
    return _show_list(console, console.workspace().node_types(text), text)


@registry.command()
@click.argument("node", shell_complete=complete_node)
@with_console
def describe(console: Console, node: str) -> None:
    """Show what NODE takes and gives."""
    entry = console.workspace().node_type(node)
    console.reply(
        {"name": entry.name, "interface": entry.data.get("interface"), **_observed(entry), "source": _source(entry)},
        _describe(entry),
    )


@registry.command(context_settings={"ignore_unknown_options": True})
@click.argument("node", shell_complete=complete_node)
@click.argument("params", nargs=-1, metavar="[key=value]...", shell_complete=complete_param)
@with_console
def run(console: Console, node: str, params: tuple[str, ...]) -> int:
    """Run NODE on its own with the given parameters and show what it gives."""
    outcome = run_node(console, console.workspace().node_type(node), params, ["pflow", "registry", "run", node])
    if console.json or not outcome.success:
        return show_outcome(console, outcome)
    console.data(outcome.outputs)
    return outcome.exit_code


@registry.command()
@with_console
def scan(console: Console) -> None:
    """Read the sources of all node types again, also your own in the `nodes` directory."""
    notices = console.workspace().scan()
    count = len(console.workspace().node_types())
    console.reply({"node_types": count, "notices": notices}, f"{count} node types")


@registry.command()
@click.option("--all", "everything", is_flag=True, hidden=True)
@click.option("--mcp-wrappers", is_flag=True, help="Only the tools of MCP servers.")
@with_console
def validate(console: Console, everything: bool, mcp_wrappers: bool) -> int:
    """Load every node type and report those that cannot be used."""
    console.keep_stdout()
    count, issues = console.workspace().validate_registry(tools_only=mcp_wrappers and not everything)
    if issues:
        message = f"{len(issues):,} of {count:,} node types cannot be used"
        if console.json:
            raise PflowError(message, details={issue.path: issue.message for issue in issues})
        rows = [f"  {escape(issue.path)}: {escape(issue.message)}" for issue in issues]
        console.say("\n".join([f"error: {message}", *rows]))
        return 1
    console.reply({"node_types": count, "valid": True}, f"all {count:,} node types can be used")
    return 0


for _command in (discover_nodes, add_mcp, refresh, migrate_mcp, test_connections):
    registry.add_command(_command)


def _show_list(console: Console, entries: Sequence[Entry], query: str) -> int:
    if not entries:
        console.remark(f"no node type matches `{escape(query)}`\n\nhint: pflow registry list")
    found = [{"name": entry.name, "description": entry.interface.description} for entry in entries]
    rows = [(escape(entry.name), shorten(entry.interface.description, 90)) for entry in entries]
    console.reply({"node_types": found}, "\n".join(columns(rows, indent="")))
    return 0


def _describe(entry: Entry) -> str:
    interface = entry.interface
    blocks = [f"{escape(entry.name)}: {escape(interface.description)}"]
    for title, fields in (("params", interface.params), ("reads", interface.reads), ("outputs", interface.outputs)):
        rows = [(escape(field.name), field.type, _state(field, title), escape(field.description)) for field in fields]
        if rows:
            blocks.append("\n".join([title, *columns(rows)]))
    result = interface.output("result")
    if result is not None and result.schema is not None and entry.is_virtual:
        lines = paths(result.schema)[1:]
        if lines:
            blocks.append("\n".join(["paths", *(f"  {escape(line)}" for line in lines)]))
    if interface.open_params:
        blocks.append("takes any other parameter as well" if interface.params else "takes any parameter")
    actions = [action for action in interface.actions if action != "default"]
    facts = [f"actions: {', '.join(escape(action) for action in actions)}"] if actions else []
    facts += [_PURITY[interface.purity], f"from {_source(entry)}"]
    blocks.append("\n".join(facts))
    needed = " ".join(f"{field.name}=…" for field in required(entry))
    blocks.append(f"try it: pflow registry run {escape(entry.name)} {needed}".rstrip())
    return "\n\n".join(blocks)


def _state(field: Field, title: str) -> str:
    if title == "outputs":
        calls = calls_seen(field.schema)
        return f"seen in {count_calls(calls)}" if calls else ""
    if field.required:
        return "required"
    if field.default is MISSING or field.default is None:
        return ""
    return f"= {shorten(orjson.dumps(field.default, default=str).decode(), 30)}"


def _observed(entry: Entry) -> dict[str, object]:
    """What was seen of a tool that does not declare what it gives."""
    result = entry.interface.output("result")
    if result is None or result.schema is None or not calls_seen(result.schema):
        return {}
    schema = {word: value for word, value in result.schema.items() if word != SEEN}
    return {"observed": {"calls": calls_seen(result.schema), "schema": schema}}


def _source(entry: Entry) -> str:
    if entry.tool:
        return f"tool `{escape(entry.tool.tool)}` of server `{escape(entry.tool.server)}`"
    return "pflow" if entry.module else escape(entry.file_path)
