"""`pflow registry …`: the node types there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.discover import discover_nodes
from pflow.cli.commands.mcp_sync import add_mcp, migrate_mcp, refresh, test_connections
from pflow.cli.completion import complete_node, complete_param
from pflow.cli.console import Console
from pflow.cli.node_text import render_field, render_node, show_source
from pflow.cli.run_report import run_node, show_outcome
from pflow.core.errors import PflowError
from pflow.core.printable import columns, escape, shorten
from pflow.core.schema_path import SEEN, calls_seen

if TYPE_CHECKING:
    from pflow.workspace import Entry


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
    """Node types whose names or descriptions hold the words of QUERY, best first.

    For words that you know, such as part of a name. For a task in your own words, use `pflow registry discover`.
    """
    text = " ".join(query)
    return _show_list(console, console.workspace().node_types(text), text)


@registry.command()
@click.argument("node", shell_complete=complete_node)
@click.argument("path", required=False, default="")
@with_console
def describe(console: Console, node: str, path: str) -> None:
    """Show what NODE takes and gives, or only what stands at PATH inside a parameter, such as `body.items[]`."""
    entry = console.workspace().node_type(node)
    detail = console.workspace().describe_node(node, focus=path)
    data = {"name": entry.name, "interface": detail.interface, **_observed(entry), "source": show_source(entry)}
    if entry.tool:
        data["input_schema"] = entry.tool.definition.get("inputSchema", {})
    said = console.workspace().servers.instructions(entry.tool.server) if entry.tool and not path else ""
    if said:
        data["instructions"] = said
    console.reply(data, render_field(entry, detail, path) if path else render_node(entry, detail, said))


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


def _observed(entry: Entry) -> dict[str, object]:
    """What was seen of a tool that does not declare what it gives."""
    result = entry.interface.output("result")
    if result is None or result.schema is None or not calls_seen(result.schema):
        return {}
    schema = {word: value for word, value in result.schema.items() if word != SEEN}
    return {"observed": {"calls": calls_seen(result.schema), "schema": schema}}
