"""`workflow_discover` and `registry_discover`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pflow.core.json_type import Json
from pflow.core.printable import shorten
from pflow.mcp_server.envelope import ToolReply, in_tools, succeed
from pflow.mcp_server.fit_list import within
from pflow.mcp_server.node_text import interface_lines
from pflow.mcp_server.schema import ARRAY, gives, takes, text
from pflow.mcp_server.tool_spec import Arguments, ToolSpec, in_thread, reads
from pflow.workspace import Workspace

if TYPE_CHECKING:
    from pflow.planning.discovery import Findings  # importing it takes longer than the whole of this package


def discover_workflows(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Saved workflows that fit a task."""
    return _found(workspace, workspace.discovery.discover_workflows(str(arguments["query"])))


def discover_nodes(workspace: Workspace, arguments: Arguments) -> ToolReply:
    """Node types to build a task with."""
    limit = int(arguments.get("limit", _MOST_NODES))
    return _found(workspace, workspace.discovery.discover_nodes(str(arguments["task"]), limit=limit))


def _found(workspace: Workspace, findings: Findings) -> ToolReply:
    data = findings.to_json()
    shown = within([_lean(hit.to_json()) for hit in findings.hits], workspace.output_limit, _BRIEF)
    data["matches"] = shown
    notes = [in_tools(note) for note in findings.notes]
    if notes:
        data["notes"] = notes
    if findings.advice:
        data["suggestions"] = [in_tools(advice) for advice in findings.advice]
    lines = [line for match in shown for line in _lines(match)]
    if not lines:
        lines = ["nothing matches", *(f"hint: {in_tools(advice)}" for advice in findings.advice)]
    lines += [f"hint: {note}" for note in notes]
    return succeed(data, "\n".join(lines))


def _lines(match: Json) -> list[str]:
    """A match as programs get it, for those who read only text."""
    head = f"{match['name']}  {match['score']:.0%}  {shorten(str(match['description']), _HEAD_CHARACTERS)}".rstrip()
    more = [f"{name} {match[name]}" for name in ("takes", "gives") if match.get(name)]
    more += [str(match["shortened"])] if "shortened" in match else []
    return [head, *(f"  {line}" for line in (*interface_lines(match), *more))]


def _lean(match: dict[str, object]) -> dict[str, object]:
    """A match without fields that repeat `reason` or say nothing."""
    lean = {name: _telling(value) for name, value in match.items() if name != "matched"}
    if "shortened" in lean:
        lean["shortened"] = in_tools(lean["shortened"])
    return lean


def _telling(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _telling(part) for name, part in value.items() if name != "$schema" and (name, part) not in _MUTE}
    return [_telling(part) for part in value] if isinstance(value, list) else value


_HEAD_CHARACTERS = 200
_MOST_NODES = 7
_MUTE: tuple[tuple[str, object], ...] = (("description", ""), ("required", False), ("default", None))
_BRIEF = ("name", "kind", "score", "description")
_MATCHES = {
    "matches": ARRAY,
    "ranking": text(),
    "notes": {"type": "array", "items": text()},
    "suggestions": {"type": "array", "items": text()},
}

TOOLS = (
    ToolSpec(
        name="workflow_discover",
        description=(
            "Find saved workflows for a task. Always run first: one that matches with a score of 0.8 or more is likely "
            "what to execute instead of building one."
        ),
        input_schema=takes({"query": text("Task")}, "query"),
        output_schema=gives(_MATCHES),
        annotations=reads(),
        handler=in_thread(discover_workflows),
    ),
    ToolSpec(
        name="registry_discover",
        description=(
            "Find nodes to build a workflow with, MCP tools among them: what each takes (`?` is optional) and gives. "
            "registry_describe has whole interfaces."
        ),
        input_schema=takes({"task": text("Task"), "limit": {"type": "integer", "minimum": 1, "maximum": 50}}, "task"),
        output_schema=gives(_MATCHES),
        annotations=reads(),
        handler=in_thread(discover_nodes),
    ),
)
