"""The five tools of `--toolset core`, for agents that want few: find, list, describe, execute and save by name.

Their answers have the fields that their document fixes, beside `success`, `data` and `error`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.file.file_name import check_name
from pflow.core.interface import Field
from pflow.core.printable import shorten
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply, end_of
from pflow.mcp_server.fit_list import entry_line, fit, pick
from pflow.mcp_server.schema import ARRAY, BOOLEAN, ERROR, OBJECT, OPEN, Schema, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, changes, in_thread, reads
from pflow.mcp_server.tools.execution import show_outputs
from pflow.mcp_server.tools.workflow import STATISTICS
from pflow.workspace import Entry, Workspace

_MOST_NODES = 20


def browse(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Node types and workflows, those that fit a query."""
    query = str(arguments.get("query") or "")
    data: dict[str, object] = {}
    if query.strip():
        found = workspace.discovery.discover_nodes(query, limit=_MOST_NODES)
        entries = [workspace.node_type(hit.name) for hit in found.hits]
        data["ranking"] = found.ranking
    else:
        entries = workspace.node_types()
    nodes, more = fit([_node(entry) for entry in entries], workspace.output_limit)
    if more:
        data["more_nodes"] = more
    fields: dict[str, object] = {"nodes": nodes}
    shown = nodes
    if arguments.get("include_workflows", True):
        fields["workflows"] = workflows = _workflows(workspace, query)
        shown = [*nodes, *workflows]
    lines = [entry_line({"name": each.get("type"), **each}) for each in shown]
    return _succeed(fields, data, "\n".join(lines) or "nothing matches")


def _workflows(workspace: Workspace, query: str) -> list[dict[str, object]]:
    if query.strip():
        hits = workspace.discovery.discover_workflows(query).hits
        return [{"name": hit.name, "description": hit.description, "score": hit.score} for hit in hits]
    return list_entries(workspace, "")


def _node(entry: Entry) -> dict[str, object]:
    interface = entry.interface
    return {
        "type": entry.name,
        "description": shorten(interface.description, 300),
        "inputs": [_field(field) for field in (*interface.params, *interface.reads)],
        "outputs": [_field(field) for field in interface.outputs],
    }


def _field(field: Field) -> dict[str, object]:
    return {"key": field.name, "type": field.type, **({"required": True} if field.required else {})}


def list_library(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Saved workflows, those that match a pattern."""
    found = list_entries(workspace, str(arguments.get("pattern") or ""))
    return _succeed({}, found, "\n".join(map(entry_line, found)) or "no workflow is saved under such a name")


def list_entries(workspace: Workspace, pattern: str) -> list[dict[str, object]]:
    """Name, description and statistics of saved workflows."""
    found = [pick(saved.metadata, STATISTICS) for saved in workspace.workflows(pattern)]
    return fit(found, workspace.output_limit)[0]


def describe(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """What a workflow takes and gives, and how it fared."""
    name = check_name(str(arguments["name"]))
    found = workspace.describe(name)
    needed = [key for key, about in found.inputs.items() if about.get("required")]
    lines = [f"{name}  {shorten(str(found.description), 200)}".rstrip()]
    lines += [f"needs {', '.join(needed)}"] if needed else []
    rest = {key: value for key, value in found.as_dict().items() if key not in ("inputs", "outputs")}
    return _succeed({"inputs": found.inputs, "outputs": found.outputs}, rest, "\n".join(lines))


async def execute(call: CallContext, arguments: Arguments) -> ToolReply:
    """Run a saved workflow or a draft."""
    name = check_name(str(arguments["name"]))
    inputs = arguments.get("inputs") or {}
    outcome = await call.watch(lambda workspace: workspace.begin(name, inputs), inputs, lends=False)
    reply = end_of(outcome, show_outputs(outcome), answers=False)
    given = reply.envelope.get("data")
    data = dict(given) if isinstance(given, Mapping) else {}
    return reply._replace(
        envelope={
            "success": not reply.is_error,
            "outputs": data.pop("outputs", {}),
            "checkpoint": outcome.checkpoint if reply.is_error else None,
            "data": data,
            "error": reply.envelope.get("error"),
            "trace_path": outcome.trace_path,
        }
    )


def save_to_library(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Move a draft into the library."""
    draft, final = check_name(str(arguments["draft_name"])), check_name(str(arguments["final_name"]))
    path = workspace.drafts.promote(draft, final, str(arguments["description"]))
    return _succeed({"path": str(path)}, {"name": final}, f"saved workflow `{final}`; the draft `{draft}` is gone")


def _succeed(fields: Mapping[str, object], data: object, text: str) -> ToolReply:
    return ToolReply(envelope={"success": True, **fields, "data": data, "error": None}, text=text)


def _gives(fields: Schema) -> Schema:
    properties = {"success": BOOLEAN, **fields, "data": {}, "error": _or_null(ERROR)}
    return {"type": "object", "properties": properties, "required": ["success"]}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_DRAFT = {"draft_name": text(), "final_name": text(), "description": text()}
_ALWAYS = {"data": None, "error": None}

TOOLS = (
    ToolSpec(
        name="browse_components",
        description="Find nodes to build workflows with, and saved workflows, for a task in words.",
        input_schema=takes({"query": text(), "include_workflows": {**BOOLEAN, "default": True}}),
        output_schema=_gives({"nodes": ARRAY, "workflows": ARRAY}),
        annotations=reads(),
        handler=in_thread(browse),
        always=_ALWAYS,
    ),
    ToolSpec(
        name="list_library",
        description="List saved workflows.",
        input_schema=takes({"pattern": _or_null(text())}),
        output_schema=_gives({}),
        annotations=reads(),
        handler=in_thread(list_library),
        always=_ALWAYS,
    ),
    ToolSpec(
        name="describe_workflow",
        description="Get the inputs, outputs, template variables and statistics of a saved workflow or draft.",
        input_schema=takes({"name": text()}, "name"),
        output_schema=_gives({"inputs": OPEN, "outputs": OPEN}),
        annotations=reads(),
        handler=in_thread(describe),
        always=_ALWAYS,
    ),
    ToolSpec(
        name="execute",
        description="Run a saved workflow or draft by name and return its outputs, or a checkpoint if it fails.",
        input_schema=takes({"name": text(), "inputs": OBJECT}, "name"),
        output_schema=_gives({"outputs": OPEN, "checkpoint": _or_null(OPEN)}),
        annotations=changes(destructive=True, open_world=True),
        handler=execute,
        always={**_ALWAYS, "outputs": {}, "checkpoint": None},
    ),
    ToolSpec(
        name="save_to_library",
        description="Move a draft into the library under a name that is free.",
        input_schema=takes(_DRAFT, *_DRAFT),
        output_schema=_gives({"path": text()}),
        annotations=changes(destructive=False),
        handler=in_thread(save_to_library),
        always=_ALWAYS,
    ),
)
