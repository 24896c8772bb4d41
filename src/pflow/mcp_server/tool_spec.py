"""What a tool of the server is: a definition, written by hand to be short, and the work behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from pflow.core.frozen import Frozen
from pflow.mcp_server.engine_thread import EngineThread
from pflow.mcp_server.envelope import Reply
from pflow.workspace import Observer, Outcome, Workspace
from pflow.workspace.serving import LiveRun

Schema = dict[str, Any]
Arguments = Mapping[str, Any]


class Desk(Protocol):
    """Where a call is worked on."""

    @property
    def engine(self) -> EngineThread:
        """Where runs happen."""

    async def watch(self, make: Callable[[Observer], LiveRun]) -> Outcome:
        """Make a run off the loop, see it through on the engine's thread, and tell the client how it goes."""

    async def detach(self, make: Callable[[Observer], LiveRun]) -> LiveRun:
        """Make a run off the loop and let it go on by itself."""


Handler = Callable[[Desk, Arguments], Awaitable[Reply]]


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


def takes(properties: Schema, *required: str) -> Schema:
    """An input schema that admits nothing else."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def text(description: str = "", **more: object) -> Schema:
    """The schema of a string."""
    return {"type": "string", **({"description": description} if description else {}), **more}


ERROR: Schema = {
    "type": "object",
    "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
    "required": ["type", "message"],
}
"""What went wrong; `details`, `node` and `suggestions` come with it where there are any."""


def gives(data: Schema, **more: Schema) -> Schema:
    """The schema of an envelope around `data`."""
    properties = {
        "success": {"type": "boolean"},
        "data": {"type": "object", "properties": data},
        "error": ERROR,
        **more,
    }
    return {"type": "object", "properties": properties, "required": ["success"]}


def in_thread(work: Callable[[Workspace, Arguments], Reply]) -> Handler:
    """A handler of work that blocks: in a thread, on a workspace of its own."""

    async def handle(desk: Desk, arguments: Arguments) -> Reply:
        return await asyncio.to_thread(lambda: work(desk.engine.resident.workspace(), arguments))

    return handle
