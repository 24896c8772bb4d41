"""The one node behind all tools of MCP servers; two parameters that checking adds name the server and the tool."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from pflow.core.errors import StepError
from pflow.core.interface import MCP_SERVER, MCP_TOOL
from pflow.engine.context import find_step
from pflow.engine.ports import ToolSessions
from pflow.nodes.output_node import AsyncOutputNode


class MCPNode(AsyncOutputNode):
    """Call a tool of an MCP server.

    Its parameters are the tool's; one that the tool needs and that is not given is read from the store under its
    own name.
    """

    name = None

    async def prep_async(self, shared: MutableMapping[str, Any]) -> tuple[str, str, dict[str, object]]:
        """Collect the arguments."""
        server, tool = self.params.get(MCP_SERVER), self.params.get(MCP_TOOL)
        if not isinstance(server, str) or not isinstance(tool, str):
            raise StepError(f"an MCP node must know its tool: `{MCP_SERVER}` and `{MCP_TOOL}` are not set")
        arguments = {name: value for name, value in self.params.items() if not name.startswith("__")}
        for name in _sessions().needs(server, tool):
            if name not in arguments and name in shared:
                arguments[name] = shared[name]
        return server, tool, arguments

    async def exec_async(self, prep_res: tuple[str, str, dict[str, object]]) -> Mapping[str, object]:
        """Call the tool."""
        server, tool, arguments = prep_res
        return await _sessions().call(server, tool, arguments)


def _sessions() -> ToolSessions:
    step = find_step()
    tools = step.services.tools if step else None
    if tools is None:
        raise StepError("MCP tools can be called only inside a run", suggestions=["`Workspace.run_flow` runs a flow"])
    return tools
