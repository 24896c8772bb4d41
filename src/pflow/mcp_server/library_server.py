"""The part of the server that shows the library: resources, prompts, and notifications of changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

from mcp.server import MCPServer
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.subscriptions import ListenHandler, PromptsListChanged, ResourcesListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    PaginatedRequestParams,
    ResourceTemplate,
    SubscriptionsListenRequestParams,
)

from pflow import __version__
from pflow.core.errors import DocumentError, InputError, NotFoundError, PflowError, SecurityError, UsageError
from pflow.core.file.home import Home
from pflow.mcp_server.asking.input_round import state_security
from pflow.mcp_server.envelope import ToolReply, fail
from pflow.mcp_server.instruction import INSTRUCTIONS
from pflow.mcp_server.prompt import fill_prompt, list_prompts
from pflow.mcp_server.resource import TEMPLATES, list_resources, read_resource
from pflow.mcp_server.task import Tasks
from pflow.workspace.driving.engine_thread import EngineThread

T = TypeVar("T")

CHANGES = frozenset({"workflow_save", "save_to_library"})
"""Tools that change the library."""

CALLS = {
    "full": "workflow_execute(workflow='{name}', parameters={inputs})",
    "core": "execute(name='{name}', inputs={inputs})",
}
"""How the tools of a toolset run a saved workflow."""

MOST_SUBSCRIPTIONS = 200

_TELLING_SECONDS = 0.5
_ASKED_WRONGLY = (DocumentError, InputError, NotFoundError, SecurityError, UsageError)


class LibraryServer(MCPServer[Any]):
    """Resources, prompts and tasks over one home; its subclass adds the tools."""

    detaching: frozenset[str] = frozenset({"workflow_execute"})
    """Tools whose runs may go on by themselves."""

    def __init__(self, home: Home, toolset: str, on: str) -> None:
        self.engine = EngineThread(home, on=on)
        self._workspace = self.engine.workspaces.open
        super().__init__(
            name="pflow",
            title="pflow",
            version=__version__,
            instructions=INSTRUCTIONS[toolset],
            log_level="WARNING",
            request_state_security=state_security(self.engine.workspaces),
            extensions=[Tasks(self._workspace, self.detaching)],
        )
        self._call = CALLS[toolset]
        self._listeners = Listeners()
        self.middleware.append(self._listeners)
        self._listen = ListenHandler(self._subscriptions, max_subscriptions=MOST_SUBSCRIPTIONS)
        answer = self._lowlevel_server.add_request_handler
        answer("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        # In pages: a library may have any size.
        answer("resources/list", PaginatedRequestParams, self._page_resources)
        answer("prompts/list", PaginatedRequestParams, self._page_prompts)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Addresses with a part to fill in."""
        return TEMPLATES

    async def read_resource(
        self, uri: object, context: Context[Any, Any] | None = None
    ) -> Iterable[ReadResourceContents]:
        """What stands under an address."""
        return [await self._off_loop(lambda: read_resource(self._workspace(), str(uri)), uri=str(uri)[:200])]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult:
        """A saved workflow as a task for an agent."""
        given = {str(key): str(value) for key, value in (arguments or {}).items()}
        return await self._off_loop(lambda: fill_prompt(self._workspace(), name, given, tool=self._call))

    def refuse(self, error: PflowError) -> ToolReply:
        """The answer for an error, without secrets."""
        reply = fail(error.as_dict())
        try:
            return self._workspace().redact_report(reply)
        except PflowError as worse:
            return fail(worse.as_dict())  # the settings that hide secrets cannot be read, so nothing is repeated

    def discreet(self, reply: ToolReply) -> ToolReply:
        """The answer without secrets that a document, a name or a description may hold."""
        shown = self._workspace().redact(reply)
        assert isinstance(shown, ToolReply)
        return shown

    async def tell_of_change(self) -> None:
        """Say that the library changed: to subscribers, and to every client of the older protocol."""
        for event in (ResourcesListChanged(), PromptsListChanged()):
            await self._subscriptions.publish(event)
        await self._listeners.tell()

    def stop_listening(self) -> None:
        """End every subscription, and tell its client."""
        self._listen.close()

    async def _page_resources(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return await self._off_loop(lambda: list_resources(self._workspace().home, _cursor(params)))

    async def _page_prompts(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return await self._off_loop(lambda: list_prompts(self._workspace().home, _cursor(params)))

    async def _off_loop(self, work: Callable[[], T], **about: str) -> T:
        try:
            return await asyncio.to_thread(work)
        except PflowError as error:
            code = INVALID_PARAMS if isinstance(error, _ASKED_WRONGLY) else INTERNAL_ERROR
            reply = await asyncio.to_thread(self.refuse, error)
        shown = reply.envelope["error"]
        assert isinstance(shown, Mapping)
        raise MCPError(code=code, message=shown["message"], data={**about, "error": shown})


class Listeners:
    """Clients of the older protocol, which are told of changes without having asked."""

    def __init__(self) -> None:
        self._connections: WeakSet[Connection] = WeakSet()

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Look at every message; the answer that begins a session says what the client will be told."""
        result = await call_next(ctx)
        if ctx.method == "initialize" and isinstance(result, dict):
            self._connections.add(ctx.session._connection)
            capabilities = result.get("capabilities", {})
            for kind in ("resources", "prompts"):
                capabilities.get(kind, {})["listChanged"] = True
        return result

    async def tell(self) -> None:
        """Notify every client that is still connected. One that does not read does not block the others."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_TELLING_SECONDS):
                await asyncio.gather(*map(_tell, self._connections), return_exceptions=True)


async def _tell(connection: Connection) -> None:
    await connection.send_resource_list_changed()
    await connection.send_prompt_list_changed()


def _cursor(params: PaginatedRequestParams | None) -> str | None:
    return params.cursor if params is not None else None
