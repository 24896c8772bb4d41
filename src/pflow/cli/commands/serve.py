"""`pflow serve …`: pflow for other programs."""

from __future__ import annotations

import os
import sys

import click

from pflow.cli.command_group import CommandGroup, pass_console
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.core.errors import UsageError


@click.group(cls=CommandGroup)
def serve() -> None:
    """Serve pflow to other programs."""


@click.command("mcp")
@click.option(
    "--toolset",
    type=click.Choice(["full", "core"]),
    default="full",
    show_default=True,
    help="`full` has thirteen tools, `core` five.",
)
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP at this address instead.")
@click.option("--allow-remote", is_flag=True, help="With --http, let other machines reach it.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="With --http, a name that it is known under, too."
)
@place_option()
@pass_console
def serve_mcp(console: Console, toolset: str, address: str | None, allow_remote: bool, hosts: tuple[str, ...]) -> int:
    """Offer workflows and nodes to agents as an MCP server over stdin and stdout, or over HTTP.

    Over HTTP every request needs a bearer token: the one in PFLOW_MCP_TOKEN, else a new one, shown once.
    With --on, the workers of PLACE drive the runs, which go on whatever becomes of the server.
    """
    workspace = console.workspace()
    home, on = workspace.home, console.on
    if on:
        workspace.driving.version()  # raises for a place that is not there, before a client has come
    if address is None:
        if allow_remote or hosts:
            raise UsageError("`--allow-remote` and `--allow-host` go with `--http HOST:PORT`")
        from pflow.mcp_server.server import run_server  # lazy: the SDK takes longer to load than all of pflow

        code = run_server(home, toolset=toolset, on=on)
    else:
        from pflow.mcp_server.listen_address import read_address  # lazy: as above

        where = read_address(address)
        from pflow.mcp_server.http_server import run_http  # lazy: as above

        code = run_http(home, where, say=console.say, toolset=toolset, on=on, remote=allow_remote, hosts=hosts)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # a step that hangs in a thread must not keep the process


serve.add_command(serve_mcp)
