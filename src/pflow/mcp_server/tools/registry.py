"""`registry_run`, `registry_describe`, `registry_search` and `registry_list`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from pflow.core.errors import NotFoundError
from pflow.core.json_type import Json
from pflow.core.printable import cut, shorten
from pflow.core.schema_path import calls_seen, paths
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply, end_of, in_tools, succeed
from pflow.mcp_server.fit_list import entry_line, list_reply, within
from pflow.mcp_server.node_text import interface_lines, prose_lines
from pflow.mcp_server.schema import ARRAY, OBJECT, OPEN, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.tools.execution import show_outputs
from pflow.workspace import Entry, Workspace

_MOST_LINES = 40
_INSTRUCTION_CHARACTERS = 4_000


async def run_node(call: CallContext, arguments: Arguments) -> ToolReply:
    """Run one node, and show what its outputs are made of."""
    name = str(arguments["node_type"])
    params = arguments.get("parameters") or {}
    outcome = await call.watch(lambda workspace: workspace.begin(workspace.one_step(name, params)))
    if outcome.status == "waiting":
        return end_of(outcome, "")
    found = await asyncio.to_thread(lambda: call.workspaces.open().output_paths(name, outcome.outputs))
    structure = template_paths(name, found)
    lines = [f"{path}  {kind}" for path, kind in list(structure.items())[:_MOST_LINES]]
    reply = end_of(outcome, "\n".join([show_outputs(outcome), "", "template paths:", *lines]))
    data = reply.envelope.get("data")
    if not isinstance(data, dict):
        return reply
    return reply._replace(envelope={**reply.envelope, "data": {**data, "structure": structure}})


def template_paths(node: str, lines: Iterable[str]) -> dict[str, str]:
    """Lines of `paths` as templates that can be copied, each with its type."""
    found: dict[str, str] = {}
    for line in lines:
        path, _, kind = line.rpartition("  ")
        if path:
            found[f"${{{node}.{path}}}"] = kind
        else:
            found["…"] = "more"
    return found


def describe(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Whole interfaces of node types; `NAME PATH` means one place inside a parameter."""
    found: list[dict[str, object]] = []
    missing: list[NotFoundError] = []
    servers: dict[str, str] = {}
    for wanted in dict.fromkeys(map(str, arguments["nodes"])):
        name, _, focus = wanted.partition(" ")
        try:
            found.append(_described(workspace, name, focus.strip()))
        except NotFoundError as error:
            missing.append(error)
            continue
        tool = workspace.node_type(name).tool
        if tool and (said := workspace.servers.instructions(tool.server)) and not focus:
            servers[tool.server] = cut(said, _INSTRUCTION_CHARACTERS)
    if missing and not found:
        raise missing[0]
    shown = within(found, workspace.output_limit, ("name", "description"))
    data: dict[str, object] = {"nodes": shown}
    lines = [line for each in shown for line in _node_lines(each)]
    if servers:
        data["instructions"] = servers
        lines += [line for name, said in servers.items() for line in (f"server `{name}` says:", *prose_lines(said))]
    if missing:
        data["missing"] = [error.as_dict() for error in missing]
        lines += [" ".join([error.message, *error.suggestions]) for error in missing]
    return succeed(data, "\n".join(lines))


def _described(workspace: Workspace, name: str, focus: str) -> dict[str, object]:
    entry = workspace.node_type(name)
    described = {"name": entry.name, **workspace.discovery.describe_node(entry.name, focus)}
    if "shortened" in described:
        described["shortened"] = in_tools(described["shortened"])
    result = entry.interface.output("result")
    if result is not None and result.schema is not None and not focus:
        lines = paths(result.schema)
        if len(lines) > 1 or calls_seen(result.schema):
            described["structure"] = template_paths(entry.name, lines)
        if calls_seen(result.schema):
            described["seen_in_calls"] = calls_seen(result.schema)
    return described


def _node_lines(each: Json) -> list[str]:
    """A node type as it is described to programs, for those who read only text."""
    if "interface" not in each:
        return [entry_line(each)]
    head, *rest = prose_lines(each["description"]) or [""]
    more = [str(each["shortened"])] if "shortened" in each else []
    return [f"{each['name']}  {head}".rstrip(), *rest, *interface_lines(each), *more]


def search(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Node types by parts of their names and descriptions."""
    pattern = str(arguments["pattern"])
    return _listed(workspace, workspace.node_types(pattern), f"no node type matches `{shorten(pattern)}`")


def list_nodes(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Every node type."""
    return _listed(workspace, workspace.node_types(), "there is no node type")


def _listed(workspace: Workspace, entries: Sequence[Entry], none: str) -> ToolReply:
    every: list[Json] = [{"name": entry.name, "description": entry.interface.description} for entry in entries]
    advice = "registry_discover and registry_search find among them"
    return list_reply("nodes", every, workspace.output_limit, none=none, advice=advice)


_NODES = {"nodes": ARRAY, "count": {"type": "integer"}}

TOOLS = (
    ToolSpec(
        name="registry_run",
        description=(
            "Run one node to see what it really returns: its outputs, and `structure`, every template path in them "
            "with its type. Do this for MCP tools before using their results in a workflow."
        ),
        input_schema=takes({"node_type": text(), "parameters": {**OBJECT, "default": {}}}, "node_type"),
        output_schema=gives({"outputs": OPEN, "structure": OPEN, "run_id": text()}, trace_path=text()),
        annotations=changes(destructive=True, open_world=True),
        handler=run_node,
    ),
    ToolSpec(
        name="registry_describe",
        description="Get the whole interface of nodes: parameters, outputs, actions, and template paths where known.",
        input_schema=takes({"nodes": {"type": "array", "items": {"type": "string"}, "maxItems": 50}}, "nodes"),
        output_schema=gives(_NODES),
        annotations=reads(),
        handler=in_thread(describe),
    ),
    ToolSpec(
        name="registry_search",
        description="Search for nodes by parts of names, parameters and descriptions.",
        input_schema=takes({"pattern": text()}, "pattern"),
        output_schema=gives(_NODES),
        annotations=reads(),
        handler=in_thread(search),
    ),
    ToolSpec(
        name="registry_list",
        description="List all nodes (warning: returns hundreds). Prefer registry_discover.",
        input_schema=takes({}),
        output_schema=gives(_NODES),
        annotations=reads(),
        handler=in_thread(list_nodes),
    ),
)
