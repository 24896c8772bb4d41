"""The tools over the SDK's server class, which speaks the protocol in both eras and over every transport."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool

from pflow.core.errors import DocumentError, PflowError
from pflow.core.file.home import Home
from pflow.core.suggest import did_you_mean
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply, fail
from pflow.mcp_server.library_server import CHANGES, LibraryServer
from pflow.mcp_server.sdk_stream import Incoming, Outgoing
from pflow.mcp_server.tool_spec import ToolSpec
from pflow.mcp_server.tools import TOOLSETS
from pflow.workspace.serving import ArgumentCheck

_logger = logging.getLogger("pflow")


class PflowServer(LibraryServer):
    """The tools of one toolset over one home."""

    def __init__(self, home: Home, *, toolset: str = "full") -> None:
        super().__init__(home, toolset)
        self._specs = {spec.name: spec for spec in TOOLSETS[toolset]()}
        self._tools = [Tool.model_validate(spec.definition()) for spec in self._specs.values()]
        self._checks: dict[str, ArgumentCheck] = {}

    async def list_tools(self) -> list[Tool]:
        """The definitions, always in the same order."""
        return self._tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult:
        """Check the arguments and do the work. Only an unknown tool is an error of the protocol."""
        spec = self._specs.get(name)
        if spec is None:
            hint = did_you_mean(name, self._specs) or f"there are {', '.join(self._specs)}"
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name[:100]}; {hint}")
        reply = await self._answer(spec, arguments, context)
        if name in CHANGES and not reply.is_error:
            await self.tell_of_change()
        return CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content={**spec.always, **reply.envelope},
            is_error=reply.is_error,
        )

    async def converse(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Serve one client that started this process, until `incoming` ends."""
        lowlevel = self._lowlevel_server
        await self.serve(lowlevel.run(incoming, outgoing, lowlevel.create_initialization_options()))

    async def serve(self, serving: Awaitable[object]) -> None:
        """Wait for the end of `serving`, then end whatever still runs."""
        cleaning = asyncio.get_running_loop().run_in_executor(None, self._clean_drafts)
        await serving
        cleaning.cancel()
        await self.engine.close()

    def _clean_drafts(self) -> None:
        """Delete old drafts. No client waits for it or hears of it."""
        try:
            self._workspace().drafts.clean_old()
        except PflowError as error:
            _logger.warning("old drafts were not deleted: %s", error.message)

    async def _answer(
        self, spec: ToolSpec, arguments: Mapping[str, Any], context: Context[Any, Any] | None
    ) -> ToolReply:
        given = _without_null(spec, arguments)
        try:
            self._check(spec, given)
            reply = await spec.handler(CallContext(self.engine, context), given)
            return reply if reply.is_discreet else self.discreet(reply)
        except PflowError as error:
            return await asyncio.to_thread(self.refuse, error)
        except Exception as error:  # noqa: BLE001 the edge: whatever a tool meets, the server goes on
            await asyncio.to_thread(self._log_bug, spec.name, traceback.format_exc())
            bug = PflowError(f"pflow has a bug: {type(error).__name__}", suggestions=["its log on stderr says where"])
            return fail(bug.as_dict())

    def _log_bug(self, tool: str, trace: str) -> None:
        """Log where it is, without secrets: others may read the log."""
        try:
            shown = str(self._workspace().redact(trace))
        except PflowError as error:
            shown = error.message
        _logger.error("tool `%s` has a bug: %s", tool, shown)

    def _check(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> None:
        check = self._checks.get(spec.name)
        if check is None:
            closed = {**spec.input_schema, "additionalProperties": False}
            check = self._checks[spec.name] = ArgumentCheck(closed, server="pflow", tool=spec.name)
        problems = check.problems(arguments)
        if problems:
            error = DocumentError(f"`{spec.name}` does not take these arguments: {'; '.join(problems[:5])}")
            error.details["problems"] = problems
            error.suggestions = (f"it takes {', '.join(f'`{name}`' for name in spec.input_schema['properties'])}",)
            raise error


def _without_null(spec: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are given. Clients that make them from a class fill the ones they leave out with null."""
    known = spec.input_schema["properties"]
    return {name: value for name, value in arguments.items() if value is not None or name not in known}
