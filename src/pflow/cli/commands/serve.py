"""`pflow serve …`: pflow for other programs."""

from __future__ import annotations

import os
import sys

import click

from pflow.cli.console import Console
from pflow.cli.group import LazyGroup, pass_console


@click.group(cls=LazyGroup)
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
@pass_console
def serve_mcp(console: Console, toolset: str) -> int:
    """Offer workflows and nodes to agents as an MCP server over stdin and stdout."""
    from pflow.mcp_server.server import run_server  # lazy: the SDK takes longer to load than all of pflow

    code = run_server(console.workspace().home, toolset=toolset)
    sys.stderr.flush()
    os._exit(code)  # a step that hangs in a thread must not keep the process


serve.add_command(serve_mcp)
