"""The tools by toolset: `full` has the thirteen, `core` the five."""

from __future__ import annotations

from collections.abc import Callable

from pflow.mcp_server.tool import ToolSpec


def _full() -> tuple[ToolSpec, ...]:
    # lazy: a server has one of the toolsets
    from pflow.mcp_server.tools import execution

    return (*execution.TOOLS,)


TOOLSETS: dict[str, Callable[[], tuple[ToolSpec, ...]]] = {"full": _full}
