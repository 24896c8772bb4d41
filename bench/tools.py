"""A home whose registry knows two thousand tools, as a person with many servers has it."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pflow.core.file.home import Home
from pflow.registry.registry import Registry

COUNT = 2000
PER_SERVER = 40


def tool_name(index: int) -> str:
    """The node type of a tool."""
    return f"mcp-server{index // PER_SERVER}-tool-{index % PER_SERVER}"


def tool_entry(index: int) -> dict[str, object]:
    """A tool with a description and schemas of the size that real ones have."""
    server, tool = f"server{index // PER_SERVER}", f"tool_{index % PER_SERVER}"
    described = "Searches the records that match a query and returns them with their fields, newest first."
    return {
        "class_name": "MCPNode",
        "module": "pflow.nodes.mcp.node",
        "file_path": "virtual://mcp",
        "node_hash": sha256(f"{server}.{tool}".encode()).hexdigest(),
        "mcp_config": {"server_id": server, "tool_name": tool, "transport": "stdio", "version": "1.2.0"},
        "interface": {
            "description": f"{described} Tool {tool} of {server}.",
            "params": [
                {"name": "query", "type": "string", "required": True, "description": "What to look for"},
                {"name": "limit", "type": "integer", "description": "At most so many", "default": 10},
                {"name": "filters", "type": "object", "schema": {"additionalProperties": {"type": "string"}}},
            ],
            "outputs": [
                {"name": "result", "type": "object", "description": "What was found", "schema": RESULT},
                {"name": "items", "type": "array", "schema": RESULT["properties"]["items"]},
            ],
            "actions": ["default", "error"],
        },
    }


RESULT: dict[str, dict[str, dict[str, object]]] = {
    "properties": {
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "title": {"type": "string"}},
            },
        },
        "next": {"type": "string"},
    },
}


def fill_registry(home: Path) -> Home:
    """Make the home and register the tools."""
    place = Home(home / ".pflow")
    registry = Registry.load(place)
    for index in range(COUNT):
        registry.set_entry(tool_name(index), tool_entry(index))
    registry.save()
    return place
