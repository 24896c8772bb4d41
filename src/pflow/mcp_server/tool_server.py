"""The tools over the SDK's server class, which speaks the protocol in both eras and over every transport."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequiredResult, TextContent, Tool

from pflow.core.errors import ConflictError, DocumentError, PflowError
from pflow.core.file.home import Home
from pflow.core.suggest import did_you_mean
from pflow.mcp_server.app.binding import STATE
from pflow.mcp_server.app.state import run_of, view_of
from pflow.mcp_server.asking.caller import Caller, asks_persons, caller_of
from pflow.mcp_server.asking.input_round import Round, ask_back, take_round
from pflow.mcp_server.call_context import CallContext
from pflow.mcp_server.elsewhere import goes_on_elsewhere, reply_of_run
from pflow.mcp_server.envelope import ToolReply, fail
from pflow.mcp_server.library_server import CHANGES, LibraryServer
from pflow.mcp_server.sdk_stream import Incoming, Outgoing
from pflow.mcp_server.tool_spec import ToolSpec
from pflow.mcp_server.tools import TOOLSETS
from pflow.workspace.asking.question import Answered
from pflow.workspace.driving.beside import drive_beside
from pflow.workspace.serving import ArgumentCheck

_logger = logging.getLogger("pflow")


class PflowServer(LibraryServer):
    """The tools of one toolset over one home, with runs there or `on` a place."""

    def __init__(self, home: Home, *, toolset: str = "full", on: str = "") -> None:
        super().__init__(home, toolset, on)
        self._specs = {spec.name: spec for spec in TOOLSETS[toolset]()}
        self._tools = [Tool.model_validate(spec.definition()) for spec in self._specs.values()]
        self._checks: dict[str, ArgumentCheck] = {}

    async def list_tools(self) -> list[Tool]:
        """The definitions, always in the same order."""
        return self._tools

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Check the arguments and do the work, or ask for what the work asks.

        Only an unknown tool, and answers to what was not asked, are errors of the protocol.
        """
        spec = self._specs.get(name)
        if spec is None:
            hint = did_you_mean(name, self._specs) or f"there are {', '.join(self._specs)}"
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {name[:100]}; {hint}")
        caller = caller_of(context.request_context if context is not None else None)
        try:
            brought = await self._take_round(context, caller)
        except PflowError as error:
            brought, reply = None, await asyncio.to_thread(self.refuse, error)
        else:
            call = CallContext(self.engine, context, caller, brought=brought.answered if brought else None)
            reply = await self._answer(spec, arguments, call)
        if name in CHANGES and not reply.is_error:
            await self.tell_of_change()
        if reply.waiting and caller.is_modern and caller.takes_forms and not (brought and brought.is_over):
            persons = await asyncio.to_thread(lambda: asks_persons(self._workspace()))
            questions = [one for one in reply.waiting if caller.can_ask(one, persons=persons)]
            if questions:
                return ask_back(questions, caller)
        result = CallToolResult(
            content=[TextContent(type="text", text=reply.text)],
            structured_content={**spec.always, **reply.envelope},
            is_error=reply.is_error,
        )
        view = await asyncio.to_thread(self._view, reply) if caller.shows_apps and spec.meta else None
        return result if view is None else result.model_copy(update={"meta": {STATE: view}})

    def _view(self, reply: ToolReply) -> Mapping[str, object] | None:
        """What the page in the chat shows beside an answer about a run; of anything else there is nothing to show."""
        run_id = run_of(reply.envelope)
        if reply.view is not None or not run_id:
            return reply.view
        try:
            return view_of(self._workspace(), run_id)
        except PflowError:
            return None  # the run is kept elsewhere, or its journal cannot be read: the answer itself stands

    async def _take_round(self, context: Context[Any, Any] | None, caller: Caller) -> Round | None:
        """Take the answers to what an earlier call asked for, if this one brings any."""
        state = context.request_state if context is not None else None
        if context is None or state is None:
            return None
        responses = context.input_responses or {}
        return await asyncio.to_thread(lambda: take_round(self._workspace(), state, responses, caller))

    async def converse(self, incoming: Incoming, outgoing: Outgoing) -> None:
        """Serve one client that started this process, until `incoming` ends."""
        lowlevel = self._lowlevel_server
        await self.serve(lowlevel.run(incoming, outgoing, lowlevel.create_initialization_options()))

    async def serve(self, serving: Awaitable[object]) -> None:
        """Wait for the end of `serving`, then end whatever still runs. Meanwhile, runs that are due are taken up."""
        cleaning = asyncio.get_running_loop().run_in_executor(None, self._clean_drafts)
        driving = asyncio.create_task(self._drive())
        try:
            await serving
        finally:
            driving.cancel()
        await asyncio.wait([driving])
        cleaning.cancel()
        await self.engine.close()

    async def _drive(self) -> None:
        """Take up runs of the home that are due; those of a place have workers."""
        if not self.engine.on:
            await drive_beside(self.engine.workspaces, say=_logger.info, warn=_logger.warning)

    def _clean_drafts(self) -> None:
        """Delete old drafts. No client waits for it or hears of it."""
        try:
            self._workspace().drafts.clean_old()
        except PflowError as error:
            _logger.warning("old drafts were not deleted: %s", error.message)

    async def _answer(self, spec: ToolSpec, arguments: Mapping[str, Any], call: CallContext) -> ToolReply:
        given = _without_null(spec, arguments)
        try:
            self._check(spec, given)
            reply = await spec.handler(call, given)
            return reply if reply.is_discreet else self.discreet(reply)
        except PflowError as error:
            if isinstance(error, ConflictError) and call.answered is not None and call.answered.places:
                return await self._from_elsewhere(call, call.answered)
            return await asyncio.to_thread(self.refuse, error)
        except Exception as error:  # noqa: BLE001 the edge: whatever a tool meets, the server goes on
            await asyncio.to_thread(self._log_bug, spec.name, traceback.format_exc())
            bug = PflowError(f"pflow has a bug: {type(error).__name__}", suggestions=["its log on stderr says where"])
            return fail(bug.as_dict())

    async def _from_elsewhere(self, call: CallContext, answered: Answered) -> ToolReply:
        """What comes of a run whose questions this call answered, and that another process has taken up."""
        if not await call.rests(answered.run_id):
            return goes_on_elsewhere(answered)
        workspace = self._workspace()
        reply = await asyncio.to_thread(lambda: reply_of_run(workspace, workspace.show_run(answered.run_id)))
        return self.discreet(reply)

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
