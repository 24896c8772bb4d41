"""`pflow registry add-mcp|refresh|migrate-mcp|test-mcp-connections`: MCP tools as what they become, node types."""

from __future__ import annotations

import shlex

import click

from pflow.cli.command_group import with_console
from pflow.cli.commands.mcp_sync import say_notes, show_checks, show_sync, sync_servers
from pflow.cli.completion import complete_server
from pflow.cli.console import Console
from pflow.cli.text import columns
from pflow.core.errors import UsageError
from pflow.core.printable import escape


@click.command("add-mcp")
@click.option("--server", "name", required=True, metavar="NAME", help="What to call the server.")
@click.option("--command", metavar="'COMMAND ARG...'", help="The command that starts it, as a shell would split it.")
@click.option("--url", help="Address of a remote server.")
@click.option("--transport", metavar="NAME", help="stdio, sse, stream-http (or http), uds, pipe.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool; can be repeated.")
@click.option("--overwrite", is_flag=True, help="Replace a server of this name.")
@with_console
def add_mcp(
    console: Console,
    name: str,
    command: str | None,
    url: str | None,
    transport: str | None,
    tools: tuple[str, ...],
    overwrite: bool,
) -> int:
    """Configure a server and make its tools node types, in one go."""
    program, *args = _split(command) if command is not None else [""]
    fields = {"url": url, "transport": transport, "command": program, "args": args, "tools": list(tools)}
    servers = console.workspace().servers
    added = servers.add(name, {key: value for key, value in fields.items() if value}, overwrite=overwrite)
    say_notes(console, added.warnings or ())
    return show_sync(console, servers.sync([name], agree=None))


@click.command()
@click.option("--mcp-server", "names", multiple=True, metavar="NAME", shell_complete=complete_server)
@click.option("--yes", is_flag=True, help="Agree to what would be started, without being asked.")
@with_console
def refresh(console: Console, names: tuple[str, ...], yes: bool) -> int:
    """Read node types again: those of an MCP server, or of all servers."""
    return sync_servers(console, names, yes=yes)


@click.command("migrate-mcp")
@click.option("--from", "source", required=True, metavar="FILE", help="The file that holds the servers.")
@click.option("--backup", is_flag=True, help="Keep a copy of FILE beside it.")
@with_console
def migrate_mcp(console: Console, source: str, backup: bool) -> int:
    """Take over the servers of an older `mcp.json`, and make their tools node types."""
    servers = console.workspace().servers
    copy = servers.back_up(source) if backup else None
    found = servers.import_from(source)
    added = [server.name for server in found.added]
    if copy is not None:
        console.remark(f"kept a copy as `{escape(copy)}`")
    names = f": {', '.join(added)}" if added else ""
    console.remark(f"took over {len(added)} server{'s' * (len(added) != 1)}{names}")
    say_notes(console, found.notes)
    return show_sync(console, servers.sync(added, agree=None) if added else [])


@click.command("test-mcp-connections")
@with_console
def test_connections(console: Console) -> int:
    """Connect to every configured server, and say which work."""
    reports = console.workspace().servers.check(())
    rows = [
        (escape(report.server), "works" if report.ok else "FAILED", escape(report.checks[-1].found))
        for report in reports
    ]
    return show_checks(console, reports, "\n".join(columns(rows, indent="")))


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"`--command` cannot be split into words: {error}") from None
    if not words:
        raise UsageError("`--command` is empty", suggestions=["give the program and its arguments"])
    return words
