"""What a tool of the server is: its definition, and the handler that answers its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pflow.core.frozen import Frozen
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply
from pflow.mcp_server.schema import Schema
from pflow.workspace import Workspace

Arguments = Mapping[str, Any]


Handler = Callable[[CallContext, Arguments], Awaitable[ToolReply]]


class ToolSpec(Frozen):
    """One tool. Its arguments are checked against `input_schema` before `handler` sees them.

    `always` holds what its answers have even when it fails.
    """

    name: str
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: Mapping[str, bool]
    handler: Handler
    always: Mapping[str, object] = {}
    meta: Mapping[str, object] = {}
    """What its definition says to hosts."""

    def definition(self) -> Schema:
        """What clients are told of it."""
        definition: Schema = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": dict(self.annotations),
        }
        return {**definition, "_meta": dict(self.meta)} if self.meta else definition


def reads(*, open_world: bool = False) -> dict[str, bool]:
    """The annotations of a tool that changes nothing."""
    return {"readOnlyHint": True, "openWorldHint": open_world}


def changes(*, destructive: bool, idempotent: bool = False, open_world: bool = False) -> dict[str, bool]:
    """The annotations of a tool that changes something."""
    return {
        "readOnlyHint": False,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }


def in_thread(work: Callable[[Workspace, Arguments], ToolReply]) -> Handler:
    """A handler for work that blocks: it runs in a thread, on a workspace of its own."""

    async def handle(call: CallContext, arguments: Arguments) -> ToolReply:
        return await asyncio.to_thread(lambda: work(call.workspaces.open(), arguments))

    return handle
