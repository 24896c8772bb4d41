"""The tools by toolset: `full` has the thirteen, `core` the five."""

from __future__ import annotations

from collections.abc import Callable

from pflow.mcp_server.tool_spec import ToolSpec

FULL = (
    "workflow_discover",
    "registry_discover",
    "registry_run",
    "workflow_execute",
    "workflow_validate",
    "workflow_save",
    "registry_describe",
    "registry_search",
    "workflow_list",
    "settings_set",
    "settings_get",
    "registry_list",
    "trace_read",
)
"""In the order in which an agent meets them."""


def _full() -> tuple[ToolSpec, ...]:
    # lazy: a server has one of the toolsets
    from pflow.mcp_server.tools import discovery, execution, registry, settings, trace, workflow

    modules = (discovery, execution, registry, settings, trace, workflow)
    found = {spec.name: spec for module in modules for spec in module.TOOLS}
    return tuple(found[name] for name in FULL)


def _core() -> tuple[ToolSpec, ...]:
    from pflow.mcp_server.tools.core import TOOLS  # lazy: a server has one of the toolsets

    return TOOLS


TOOLSETS: dict[str, Callable[[], tuple[ToolSpec, ...]]] = {"full": _full, "core": _core}
