"""A tool that meets a bug: its caller gets a typed error, the log says where without secrets, the server goes on."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from pflow.core.file.home import Home
from pflow.mcp_server.tool_server import PflowServer
from pflow.mcp_server.tools import TOOLSETS
from pflow.workspace import Workspace

SECRET = "c4n4ry-0123456789-abcdef"
EVERY = [(toolset, spec.name) for toolset, specs in TOOLSETS.items() for spec in specs()]


@pytest.mark.parametrize(("toolset", "tool"), EVERY)
def test_a_bug_in_any_tool_is_a_typed_error_and_the_server_goes_on(
    home: Path, toolset: str, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Workspace(Home(home)) as workspace:
        workspace.set_setting("A_TOKEN", SECRET)

    async def work() -> tuple[Any, Any]:
        server = PflowServer(Home(home), toolset=toolset)

        async def broken(*_: object) -> Any:
            raise ZeroDivisionError(f"with {SECRET}")

        arguments: dict[str, Any] = {
            name: ["x"] if name == "nodes" else "x" for name in server._specs[tool].input_schema.get("required", ())
        }
        server._specs[tool] = server._specs[tool]._replace(handler=broken)
        result = await server.call_tool(tool, arguments)
        with pytest.raises(MCPError):
            await server.call_tool("no_such", {})
        await server.engine.close()
        return result, await server.list_tools()

    with caplog.at_level(logging.ERROR, "pflow"):
        result, tools = asyncio.run(work())
    assert result.is_error
    assert result.structured_content["error"]["type"] == "pflow"
    assert result.structured_content["error"]["message"] == "pflow has a bug: ZeroDivisionError"
    assert len(tools) == len([1 for each, _ in EVERY if each == toolset])
    [record] = caplog.records
    assert "ZeroDivisionError: with" in record.getMessage()
    assert SECRET not in record.getMessage()
