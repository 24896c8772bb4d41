"""`pflow mcp …`: the MCP servers that a person lets pflow use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import CommandGroup, pass_console, with_console
from pflow.cli.commands.mcp_install import HOST_HELP, install, uninstall
from pflow.cli.commands.mcp_sync import COMPARE_HELP, asking, doctor, say_none, say_notes, sync
from pflow.cli.commands.serve import serve_mcp
from pflow.cli.completion import complete_file, complete_server
from pflow.cli.console import Console
from pflow.cli.text import quote
from pflow.core.errors import UsageError
from pflow.core.file.home import absolute
from pflow.core.printable import columns, escape

if TYPE_CHECKING:
    from pflow.workspace.server_report import ServerView


@click.group(cls=CommandGroup)
def mcp() -> None:
    """Use MCP servers. Nothing is read from the current directory by itself; `sync` and `doctor` start servers."""


@mcp.command()
@click.argument("name")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARG]...]")
@click.option("--url", help="Address of a remote server.")
@click.option("--socket", metavar="PATH", help="Socket of a running server.")
@click.option("--transport", metavar="NAME", help="stdio, sse, stream-http (or http), uds, pipe.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable; '${VAR}' is filled in at the start.")
@click.option("--cwd", metavar="DIR", help="The directory it starts in.")
@click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="A header of every request.")
@click.option("--token-env", metavar="NAME", help="The variable or setting that holds its token.")
@click.option("--auth", metavar="TYPE", help="bearer, oauth (a person logs in) or client_credentials.")
@click.option("--client-id", metavar="ID", help="The client that OAuth knows pflow as.")
@click.option("--client-secret-env", metavar="NAME", help="The variable or setting that holds its secret.")
@click.option("--issuer", metavar="URL", help="The authorization server that the client belongs to.")
@click.option("--scope", multiple=True, help="A scope that the token needs.")
@click.option("--timeout", type=float, metavar="SECONDS", help="How long it may stay silent; 30 by default.")
@click.option("--limit", metavar="RATE", help="How often its tools may be called, such as 10/s, 100/m or 5/h.")
@click.option("--pin-file", metavar="FILE", shell_complete=complete_file, help="Certificates to accept, no others.")
@click.option("--insecure", is_flag=True, help="Allow http:// to another machine, and any certificate. For testing.")
@click.option("--trust-readonly", is_flag=True, help="Trust it on which tools only read; their results are cached.")
@click.option("--trust-idempotent", is_flag=True, help="Trust it on which tools may run again after a crash.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool becomes a node type; repeatable.")
@click.option("--compare", metavar="WHAT", help=COMPARE_HELP)
@click.option("--overwrite", is_flag=True, help="Replace a server of this name.")
@with_console
def add(
    console: Console,
    /,
    name: str,
    words: tuple[str, ...],
    overwrite: bool,
    env: tuple[str, ...],
    header: tuple[str, ...],
    scope: tuple[str, ...],
    tools: tuple[str, ...],
    **given: object,
) -> None:
    """Configure the server NAME: a COMMAND to start, behind `--`, or `--url`."""
    fields = _fields(words, given, scope)
    if env:
        fields["env"] = dict(_pair(text, "=", "env") for text in env)
    if header:
        fields["headers"] = dict(_pair(text, ":", "headers") for text in header)
    if tools:
        fields["tools"] = list(tools)
    added = console.workspace().servers.add(name, fields, overwrite=overwrite)
    console.reply(added.as_dict(), f"added server `{name}`: {_summary(added)}")
    say_notes(console, added.warnings or ())


@mcp.command("list")
@with_console
def list_servers(console: Console) -> None:
    """Every configured server. Only the names of variables and headers are shown."""
    found = console.workspace().servers.list()
    rows = [(server.name, _transport(server), _target(server) + _notes(server)) for server in found]
    say_none(console, found)
    console.reply({"servers": [server.as_dict() for server in found]}, "\n".join(columns(rows, indent="")))


@mcp.command()
@click.argument("name", shell_complete=complete_server)
@with_console
def show(console: Console, name: str) -> None:
    """Show the server NAME: how it is reached, its tools, and what it says about them."""
    found = console.workspace().servers.describe(name)
    server = found.server
    lines = [f"{server.name}  {_transport(server)}  {_target(server)}"]
    if found.version:
        lines.append(f"version {escape(found.version)}")
    if server.limit:
        lines.append(f"called at most {escape(server.limit)}")
    if server.compare != "everything":
        lines.append(f"compares the {server.compare} of its tools")
    lines.append(f"tools: {', '.join(map(escape, found.tools)) or 'not known before `pflow mcp sync`'}")
    if found.instructions:
        lines += ["", "it says", *(f"  {escape(line)}".rstrip() for line in found.instructions.splitlines())]
    console.reply(found.as_dict(), "\n".join(lines))


@mcp.command()
@click.argument("name", shell_complete=complete_server)
@with_console
def remove(console: Console, name: str) -> None:
    """Forget the server NAME."""
    console.workspace().servers.remove(name)
    console.reply({"name": name, "removed": True}, f"removed server `{escape(name)}`")


@mcp.command()
@click.argument("name", shell_complete=complete_server)
@with_console
def login(console: Console, name: str) -> None:
    """Log in to the server NAME in a browser. The tokens stay on this machine, for you alone."""
    console.workspace().servers.log_in(name, say=lambda text: console.say(escape(text)))
    console.reply({"name": name, "logged_in": True}, f"logged in to server `{escape(name)}`")


@mcp.command()
@click.argument("server", shell_complete=complete_server)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND [ARG]...]")
@pass_console
def record(console: Console, server: str, words: tuple[str, ...]) -> int:
    """Stand between a client and SERVER over stdin and stdout, and record the calls of its tools.

    SERVER is configured, or the name of what COMMAND starts. Give this command to the client in place of the server's.
    """
    code = console.workspace().servers.record(server, words, say=lambda text: console.say(escape(text)))
    os._exit(code)  # a thread that waits for the client must not keep the process


@mcp.command()
@click.argument("name", shell_complete=complete_server)
@with_console
def logout(console: Console, name: str) -> None:
    """Forget the tokens of the server NAME. They stay valid until they expire."""
    had = console.workspace().servers.log_out(name)
    said = "forgot the tokens of" if had else "there were no tokens of"
    console.reply({"name": name, "logged_out": had}, f"{said} server `{escape(name)}`")


mcp.add_command(sync)
mcp.add_command(doctor)
mcp.add_command(install)
mcp.add_command(uninstall)
mcp.add_command(serve_mcp, "serve")


@mcp.command(
    "import",
    help=f"""Take over the servers that another program has configured, or those in FILE.

HOST is {HOST_HELP}. What each server may do is shown; one that would get your settings or environment variables is
asked about.""",
)
@click.argument("source", metavar="FILE|HOST", shell_complete=complete_file)
@click.option("--dry-run", is_flag=True, help="Show what would be taken over.")
@click.option("--overwrite", is_flag=True, help="Replace servers of the same names.")
@click.option("--yes", is_flag=True, help="Agree to servers that get your settings or variables, without being asked.")
@with_console
def import_servers(console: Console, source: str, dry_run: bool, overwrite: bool, yes: bool) -> None:
    servers = console.workspace().servers
    found = servers.import_from(source, agree=asking(console, yes), dry_run=dry_run, overwrite=overwrite)
    verb = "would add" if dry_run else "added"
    lines = [f"{verb} server `{server.name}`: {_summary(server)}" for server in found.added]
    if found.kept:
        lines.append(f"kept as configured: {', '.join(found.kept)}")
    console.reply(found.as_dict(), "\n".join(lines or ["no servers to take over"]))
    say_notes(console, found.notes)


def _fields(words: tuple[str, ...], given: Mapping[str, object], scopes: tuple[str, ...]) -> dict[str, object]:
    """The server's fields in the file, from the options of the command line."""
    fields: dict[str, object] = {
        key: given[key] for key in ("url", "transport", "timeout", "limit", "compare") if given[key] is not None
    }
    if words:
        fields["command"], fields["args"] = words[0], list(words[1:])
    for key in ("socket", "cwd", "pin_file"):
        path = given[key]
        if isinstance(path, str):
            fields[key] = (
                path if path[:1] == "~" or "${" in path or given["transport"] == "pipe" else str(absolute(path))
            )
    parts = ("token_env", "client_id", "client_secret_env", "issuer")
    auth = {key: given[key] for key in parts if given[key] is not None}
    if given["auth"]:
        auth["type"] = given["auth"]
    if auth or scopes:
        fields["auth"] = {**auth, "scopes": list(scopes)}
    for key in ("insecure", "trust_readonly", "trust_idempotent"):
        if given[key]:
            fields[key] = True
    if not words and not given["url"] and not given["socket"]:
        raise UsageError(
            "a server needs a command to start, or an address",
            suggestions=["pflow mcp add NAME -- COMMAND ARGS", "pflow mcp add NAME --url https://host/path"],
        )
    return fields


def _pair(text: str, mark: str, key: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found:
        option, example = ("--env", "NAME=VALUE") if key == "env" else ("--header", "'NAME: VALUE'")
        raise UsageError(f"a value of `{option}` has no `{mark}`", suggestions=[f"write `{option} {example}`"])
    return (name, value) if key == "env" else (name.strip(), value.strip())


def _transport(server: ServerView) -> str:
    return f"{server.transport}, insecure" if server.insecure else server.transport


def _notes(server: ServerView) -> str:
    """What is special about how a server is used."""
    limit = [f"at most {escape(server.limit)}"] if server.limit else []
    tools = [f"only {', '.join(escape(tool) for tool in server.tools)}"] if server.tools else []
    return f"  ({'; '.join([*limit, *tools])})" if limit or tools else ""


def _summary(server: ServerView) -> str:
    """What is started or talked to, and what else is agreed to, a line each."""
    return "\n  ".join([_target(server), *(server.facts or ())])


def _target(server: ServerView) -> str:
    """What is started or talked to, whole and escaped."""
    if not server.command:
        return escape(server.url or server.socket)
    return " ".join(escape(quote(word)) for word in (server.command, *server.args))
