"""`pflow call`: one tool of an MCP server, from the shell."""

from __future__ import annotations

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_server, complete_tool, complete_tool_param
from pflow.cli.console import Console
from pflow.cli.run_report import run_node, show_outcome
from pflow.core.errors import UsageError
from pflow.core.json_type import objects_in
from pflow.core.printable import escape


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("server", shell_complete=complete_server)
@click.argument("tool", required=False, shell_complete=complete_tool)
@click.argument("params", nargs=-1, metavar="[key=value]...", shell_complete=complete_tool_param)
@click.option("--shape", is_flag=True, help="Show the paths that a workflow can refer to, in place of the values.")
@with_console
def call(console: Console, server: str, tool: str | None, params: tuple[str, ...], shape: bool) -> int:
    """Call TOOL of SERVER once and print its result.

    TOOL is its own name or the one in its node type.
    """
    servers = console.workspace().servers
    if tool is None:
        servers.show(server)
        known = servers.tools(server)
        raise UsageError(
            f"name the tool of server `{server}` to call",
            details={"tools": list(known)} if known else None,
            suggestions=[f"pflow call {server} TOOL key=value" if known else f"pflow mcp sync {server}"],
        )
    entry = servers.find_tool(server, tool)
    outcome = run_node(console, entry, params, ["pflow", "call", server, tool])
    if not outcome.success or (console.json and not shape):
        return show_outcome(console, outcome)
    if shape:
        found = console.workspace().output_paths(entry.name, outcome.outputs)
        console.reply({"node_type": entry.name, "paths": found}, "\n".join(escape(line) for line in found))
        return 0
    console.data(outcome.outputs.get("result"))
    for file in objects_in(outcome.outputs.get("files")):
        console.say(f"file: {escape(str(file.get('path') or file.get('uri')))}")
    return outcome.exit_code
