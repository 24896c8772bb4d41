"""A node type in full, with what the server of a tool says about all its tools."""

from __future__ import annotations

from pflow.core.file.home import Home
from pflow.mcp.server.server_state import ServerStates
from pflow.mcp.tools.detail import NodeDetail, describe_entry
from pflow.registry.entry import Entry


def detail_of(home: Home, entry: Entry, *, focus: str = "") -> NodeDetail:
    """What a node type does and takes. Raises `NotFoundError` for a `focus` that is not in any parameter."""
    detail = describe_entry(entry, focus=focus)
    if not entry.tool or focus:
        return detail
    return detail._replace(instructions=ServerStates(home).get(entry.tool.server).instructions)
