"""Node types that cannot be used, and why: code that does not load, tools whose server or schema is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pflow.core.advice import Advice
from pflow.core.document.issue import Issue
from pflow.core.errors import PflowError
from pflow.core.file.home import Home
from pflow.registry.entry import Entry, ToolConfig
from pflow.registry.registry import Registry


def check_entries(registry: Registry, home: Home, *, tools_only: bool = False) -> tuple[int, list[Issue]]:
    """How many node types were looked at, and what is wrong with them. Starts nothing."""
    from pflow.mcp.server.config_file import ServerBook  # lazy: only for this

    entries = [registry.get(name) for name in registry.names()]
    if tools_only:
        entries = [entry for entry in entries if entry.is_virtual]
    servers = ServerBook(home).names() if any(entry.is_virtual for entry in entries) else []
    return len(entries), [issue for entry in entries for issue in _check(entry, servers)]


def _check(entry: Entry, servers: Collection[str]) -> Iterator[Issue]:
    try:
        entry.node_class()
        if entry.is_virtual:
            _check_tool(entry, servers)
    except PflowError as error:
        yield Issue(code=error.code, message=error.message, path=entry.name)


def _check_tool(entry: Entry, servers: Collection[str]) -> None:
    """Raise `PflowError` for a tool that no run could call."""
    from pflow.mcp.call.argument import ArgumentCheck  # lazy: loads the validator
    from pflow.mcp.tools.entry import manifest_hash

    found = entry.tool or ToolConfig(server="", tool="")
    server, definition = found.server, found.definition
    if server not in servers:
        raise PflowError(f"Server {server} not configured")
    if definition.get("name") != found.tool or manifest_hash(definition) != found.manifest_hash:
        raise PflowError(
            Advice("its definition is not the one that was synced; `{sync_server}` reads it again", server=server)
        )
    ArgumentCheck(definition.get("inputSchema"), server=server, tool=found.tool)
