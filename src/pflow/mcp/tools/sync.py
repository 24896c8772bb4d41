"""The tools of a server in the registry: bringing them up to date, what that breaks, and finding one."""

from __future__ import annotations

from typing import Protocol, TypeVar

from pflow.mcp.server.tool_name import PREFIX, sanitise
from pflow.mcp.tools.sync_effect import Touched, touched
from pflow.mcp.tools.sync_plan import SyncPlan, plan_sync
from pflow.registry.entry import ToolConfig
from pflow.registry.registry import Registry

__all__ = ["SyncPlan", "Touched", "apply_sync", "find_entry", "node_types_of", "plan_sync", "tools_of", "touched"]


class TypeEntry(Protocol):
    """What is looked at in an entry of the registry."""

    @property
    def tool(self) -> ToolConfig | None:
        """The tool that it stands for."""


E_co = TypeVar("E_co", bound=TypeEntry, covariant=True)


class Types(Protocol[E_co]):
    """Node types by name."""

    def get(self, name: str) -> E_co:
        """The node type of that name."""

    def names(self) -> list[str]:
        """All names."""

    def __contains__(self, name: object) -> bool: ...


def apply_sync(plan: SyncPlan, registry: Registry) -> None:
    """Do what the plan says, all of it or nothing; the registry as it was stays beside it as `registry.json.bak`.

    Raises `StorageError` or `SecurityError` where the file cannot be written; then `registry` is to be loaded anew.
    """
    removed = [name for name in plan.names("removed") if name in registry]
    if plan.entries or removed:
        for name, entry in plan.entries.items():
            registry.set_entry(name, entry)
        for name in removed:
            registry.remove(name)
        registry.save(backup=True)


def find_entry(types: Types[E_co], server: str, tool: str) -> E_co | None:
    """The entry of a tool by its own name; None if the registry does not have it."""
    likely = f"{PREFIX}{server}-{sanitise(tool, default='tool')}"
    if likely in types and _is_of(entry := types.get(likely), server, tool):
        return entry
    for name in types.names():
        if name.startswith(PREFIX) and _is_of(entry := types.get(name), server, tool):
            return entry
    return None


def node_types_of(types: Types[TypeEntry], server: str) -> list[str]:
    """The node types of a server's tools."""
    names = (name for name in types.names() if name.startswith(PREFIX))
    return [name for name in names if (tool := types.get(name).tool) and tool.server == server]


def tools_of(types: Types[TypeEntry], server: str) -> list[str]:
    """The tools of a server that the registry has, by their own names."""
    tools = (types.get(name).tool for name in node_types_of(types, server))
    return [tool.tool for tool in tools if tool]


def _is_of(entry: TypeEntry, server: str, tool: str) -> bool:
    found = entry.tool
    return found is not None and (found.server, found.tool) == (server, tool)
