"""pflow as an MCP server: its tools over the SDK's server class, which speaks the protocol in both eras."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool, ToolAnnotations

from pflow.core.errors import DocumentError, PflowError
from pflow.core.file.home import Home
from pflow.core.suggest import did_you_mean
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.envelope import ToolReply, fail
from pflow.mcp_server.library_server import CHANGES, LibraryServer
from pflow.mcp_server.stdio_pipes import take_stdio
from pflow.mcp_server.tool_spec import ToolSpec
from pflow.mcp_server.tools import TOOLSETS
from pflow.workspace.serving import SIGNALS, ArgumentCheck

_logger = logging.getLogger("pflow")


class PflowServer(LibraryServer):
    """The tools of one toolset over one home."""

    def __init__(self, home: Home, *, toolset: str = "full") -> None:
        super().__init__(home, toolset)
        self._specs = {spec.name: spec for spec in TOOLSETS[toolset]()}
        self._tools = [_definition(spec) for spec in self._specs.values()]
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

    async def serve(self, serving: Awaitable[object], *, stop: Callable[[], None]) -> int:
        """Wait for the end of `serving`, which a signal brings about with `stop`; the exit code.

        A second signal ends the process at once.
        """
        loop = asyncio.get_running_loop()
        code = 0

        def interrupt(name: str) -> None:
            nonlocal code
            if code:
                os._exit(code)
            code = SIGNALS[name]
            self.engine.leave(graceful=False)
            stop()

        for name in SIGNALS:
            loop.add_signal_handler(getattr(signal, name), interrupt, name)
        cleaning = loop.run_in_executor(None, self._clean_drafts)
        await serving
        cleaning.cancel()
        await self.engine.close()
        return code

    def _clean_drafts(self) -> None:
        """Delete old drafts. No client waits for it or hears of it."""
        try:
            self._workspace().drafts.clean_old()
        except PflowError as error:
            _logger.warning("old drafts were not deleted: %s", error.message)

    async def _answer(
        self, spec: ToolSpec, arguments: Mapping[str, Any], context: Context[Any, Any] | None
    ) -> ToolReply:
        try:
            self._check(spec, arguments)
            reply = await spec.handler(CallContext(self.engine, context), arguments)
            return await asyncio.to_thread(self.discreet, reply)
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
            check = self._checks[spec.name] = ArgumentCheck(spec.input_schema, server="pflow", tool=spec.name)
        problems = check.problems(arguments)
        if problems:
            error = DocumentError(f"`{spec.name}` does not take these arguments: {'; '.join(problems[:5])}")
            error.details["problems"] = problems
            error.suggestions = (f"it takes {', '.join(f'`{name}`' for name in spec.input_schema['properties'])}",)
            raise error


def _definition(spec: ToolSpec) -> Tool:
    return Tool(
        name=spec.name,
        description=spec.description,
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        annotations=ToolAnnotations.model_validate(spec.annotations),
    )


def run_server(home: Home, *, toolset: str = "full") -> int:
    """Serve over stdin and stdout until the client has gone or a signal comes; the exit code."""
    logging.basicConfig(level=logging.WARNING, format="pflow: %(message)s", stream=sys.stderr)
    return asyncio.run(_serve(home, toolset))


async def _serve(home: Home, toolset: str) -> int:
    server = PflowServer(home, toolset=toolset)
    source, target = take_stdio(lambda: server.engine.leave(graceful=True))
    lowlevel = server._lowlevel_server
    serving = lowlevel.run(source, target, lowlevel.create_initialization_options())
    return await server.serve(serving, stop=source.end)
