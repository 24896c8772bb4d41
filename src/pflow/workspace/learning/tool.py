"""Tools that sessions name, as the node types that they are here."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pflow.core.json_type import object_in
from pflow.planning.learning.act import FindTool, Tool
from pflow.registry.entry import Entry
from pflow.registry.registry import Registry


def tool_finder(registry: Registry) -> FindTool:
    """Finds the node type of a server's tool, however a host spells the two."""
    known = {
        (_plain(entry.tool.server), _plain(entry.tool.tool)): entry
        for entry in registry.search("")
        if entry.tool is not None
    }

    def find(server: str, tool: str) -> Tool | None:
        if not server:  # a step of a run is of a node type already
            return Tool(type=tool) if tool in registry else None
        entry = known.get((_plain(server), _plain(tool)))
        return None if entry is None else _tool(entry)

    return find


def _tool(entry: Entry) -> Tool:
    assert entry.tool is not None
    definition = entry.tool.definition
    schema = definition.get("outputSchema")
    fields = object_in(schema, "properties") if isinstance(schema, Mapping) else {}
    texts = [name for name, field in fields.items() if isinstance(field, dict) and field.get("type") == "string"]
    reads = entry.interface.purity != "impure" or object_in(definition, "annotations").get("readOnlyHint") is True
    one = texts[0] if len(fields) == 1 and texts else ""
    return Tool(type=entry.name, reads=reads, has_schema=isinstance(schema, Mapping), field=one)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
