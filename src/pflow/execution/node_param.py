"""What a step gets as its parameters: those of the document, and for a tool of an MCP server which one it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pflow.core.advice import Advice
from pflow.core.document.document import KeyMapping, NodeSpec
from pflow.core.errors import NotFoundError
from pflow.core.interface import MCP_SERVER, MCP_TOOL
from pflow.core.suggest import nearest
from pflow.core.template.compiled import Compiled

if TYPE_CHECKING:
    from pflow.execution.node_check import Report
    from pflow.registry.entry import Entry, ToolConfig
    from pflow.registry.registry import Registry


class NodeParams(Compiled):
    """The parameters of a node, each compiled for its own slot, and those that are added for its code."""

    def __init__(self, params: Mapping[str, Compiled], added: Mapping[str, str]) -> None:
        self.references = tuple(reference for part in params.values() for reference in part.references)
        self._params = params
        self._added = added

    def named(self) -> Mapping[str, Compiled]:
        return self._params

    def render(self, lookup: Any) -> object:
        rendered = {name: part.render(lookup) for name, part in self._params.items()}
        return {**rendered, **self._added} if self._added else rendered


def tool_params(tool: ToolConfig | None) -> dict[str, str]:
    """What is added to the parameters of a node so that its code knows which tool it is; nothing for other nodes."""
    return {MCP_SERVER: tool.server, MCP_TOOL: tool.tool} if tool else {}


def read_json(text: str) -> object | None:
    """The JSON in the text of a tool's result, for templates that lead into it."""
    from pflow.mcp.call.tool_result import json_in  # lazy: few documents lead into the text of a tool

    return json_in(text)


def params_beside(spec: NodeSpec, mapping: KeyMapping | None) -> Mapping[str, object]:
    """The params of a node as written, and those that its mapping fills in."""
    filled = {name: f"${{{source}}}" for name, source in mapping.input_mappings.items()} if mapping else {}
    return {**filled, **spec.params}


def find_entry(index: int, spec: NodeSpec, types: Registry, report: Report) -> Entry | None:
    """The entry of a node's type; an issue if there is none."""
    if spec.mcp_server and spec.mcp_tool:
        return _find_tool(index, spec, types, report)
    try:
        return types.get(spec.type)
    except NotFoundError as error:
        near = error.details.get("similar")
        known = tuple(map(str, near)) if isinstance(near, list | tuple) else ()
        hint = (error.suggestions or ("",))[0]
        report("unknown-type", error.message, ("nodes", index, "type"), known=known, hint=hint)
        return None


def _find_tool(index: int, spec: NodeSpec, types: Registry, report: Report) -> Entry | None:
    """The entry of the tool that a node of type `mcp_wrapper` names by its server and its own name."""
    from pflow.mcp.tools.sync import find_entry as entry_of_tool  # lazy: only for this form of a node
    from pflow.mcp.tools.sync import tools_of  # lazy: only for this form of a node

    assert spec.mcp_server and spec.mcp_tool
    entry = entry_of_tool(types, spec.mcp_server, spec.mcp_tool)
    if entry is None:
        known = tools_of(types, spec.mcp_server)
        near = nearest(spec.mcp_tool, known, limit=1)
        report(
            "unknown-type",
            f"Tool {spec.mcp_tool} not found on server {spec.mcp_server}"
            if known
            else f"no tools of server `{spec.mcp_server}` are known",
            ("nodes", index, "mcp_metadata", "tool_name" if known else "server_id"),
            known=tuple(near),
            hint=f"did you mean `{near[0]}`?"
            if near
            else Advice("`{sync_server}` reads its tools", server=spec.mcp_server),
        )
    return entry
