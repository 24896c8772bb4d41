"""The official SDK's own client: it checks what every tool gives against what the tool says it gives."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.mcp_server.client import COMMAND

HELLO = {
    "inputs": {"name": {"type": "string", "required": True}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}

FULL: list[tuple[str, dict[str, Any], bool]] = [
    ("workflow_discover", {"query": "say hello"}, False),
    ("registry_discover", {"task": "read a file"}, False),
    ("registry_run", {"node_type": "echo", "parameters": {"a": [1]}}, False),
    ("registry_run", {"node_type": "ecko"}, True),
    ("workflow_validate", {"workflow": HELLO}, False),
    ("workflow_validate", {"workflow": {"nodes": 5}}, False),
    ("workflow_execute", {"workflow": HELLO, "parameters": {"name": "Ada"}}, False),
    ("workflow_execute", {"workflow": HELLO}, True),
    ("workflow_execute", {"workflow": HELLO, "parameters": {"name": "Ada"}, "detach": True}, False),
    ("workflow_save", {"workflow": HELLO, "name": "hello", "is_temp": True}, False),
    ("workflow_save", {"workflow": "hello", "name": "hello", "description": "Say hello"}, False),
    ("workflow_save", {"workflow": HELLO, "name": "hello", "description": "Say hello"}, True),
    ("workflow_list", {"include_temp": True}, False),
    ("registry_describe", {"nodes": ["echo", "ecko"]}, False),
    ("registry_search", {"pattern": "file"}, False),
    ("registry_list", {}, False),
    ("settings_set", {"key": "A_TOKEN", "value": "0123456789abcdef"}, False),
    ("settings_get", {"key": "A_TOKEN"}, False),
    ("trace_read", {}, False),
    ("trace_read", {"trace_file": "/etc/passwd"}, True),
]
CORE: list[tuple[str, dict[str, Any], bool]] = [
    ("browse_components", {}, False),
    ("browse_components", {"query": "zxqv"}, False),
    ("list_library", {}, False),
    ("describe_workflow", {"name": "absent"}, True),
    ("execute", {"name": "../absent"}, True),
    ("save_to_library", {"draft_name": "a", "final_name": "b", "description": "c"}, True),
]


@pytest.mark.requirement("server5:require-6", "server5:rule-19", "server5:test-20")
@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("toolset", "calls"), [("full", FULL), ("core", CORE)])
def test_every_answer_is_what_its_tool_said_it_would_be(
    home: Path, mode: Any, toolset: str, calls: list[tuple[str, dict[str, Any], bool]]
) -> None:
    async def work() -> None:
        command, *words = COMMAND
        env = {**os.environ, "PFLOW_HOME": str(home)}
        server = StdioServerParameters(command=command, args=[*words, "--toolset", toolset], env=env)
        async with asyncio.timeout(60), Client(server, mode=mode) as client:
            tools = (await client.list_tools()).tools
            assert {name for name, _, _ in calls} == {tool.name for tool in tools}
            for name, arguments, fails in calls:
                result = await client.call_tool(name, arguments)
                assert result.is_error is fails, (name, result)
                assert result.structured_content["success"] is not fails
                [block] = result.content
                assert block.type == "text"
                assert 0 < len(block.text) < 5000
            with pytest.raises(MCPError, match="Unknown tool: no_such"):
                await client.call_tool("no_such", {})

    asyncio.run(work())
