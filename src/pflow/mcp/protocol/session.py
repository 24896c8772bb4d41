"""A session with an MCP server: its tools listed and called, in either era, over whatever carries the messages."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

from pflow.core.errors import InputNeeded, ServerError, ServerGone, StepTimeout
from pflow.core.json_type import JsonView
from pflow.mcp.protocol.elicitation import DECLINE, Answer, respond, respond_to_one
from pflow.mcp.protocol.favour import NO_MODEL, asked_in
from pflow.mcp.protocol.handshake import Era, Peer, meet, request_meta
from pflow.mcp.protocol.rpc import IDLE, Patience, Rpc, Served
from pflow.mcp.protocol.rpc_reply import excerpt

Warn = Callable[[str], None]

LEAVE_SECONDS = 0.5
"""What a server gets to leave when a session is over. Some never do, and they stand at the end of every run."""

MOST_PAGES = 100
MOST_TOOLS = 20_000
_MOST_ROUNDS = 10
_MOST_QUESTIONS = 16
_NO_METHOD = {"error": {"code": -32601, "message": "Method not found"}}


class Conduct(TypedDict, total=False):
    """How to treat a server that speaks unasked: the roots it is told, who answers its questions, who is warned."""

    roots: Sequence[str]
    answer: Answer | None
    warn: Warn | None


class Link:
    """What a session runs over. Answers roots and pings, and questions to a person if there is an `answer`; declines
    all else that a server asks.
    """

    wire: Rpc
    """The connection, which every kind of link makes for itself."""

    def __init__(self, *, roots: Sequence[str] = (), answer: Answer | None = None, warn: Warn | None = None) -> None:
        self.legacy = True
        self.tools_changed = False
        self.denied: Counter[str] = Counter()
        self._closing: tuple[asyncio.Task[None], asyncio.Task[None]] | None = None
        self.answer = answer
        self._questions = 0
        self._roots = [{"uri": root} for root in roots]
        self.warn: Warn = warn or (lambda message: None)

    @property
    def pid(self) -> int | None:
        """The process that was started for it, if one was."""
        return None

    async def start(self, timeout: float) -> None:
        """Make the connection ready for requests."""

    async def close(self, *, patience: float | None = None) -> None:
        """Let go of the server, even if this is cancelled; it gets `patience` seconds to leave by itself."""
        if self._closing is None:
            self.wire.fail(ServerGone("the connection to the MCP server was closed"))
            leaving = asyncio.create_task(self._leave(LEAVE_SECONDS if patience is None else patience))
            self._closing = leaving, asyncio.create_task(self._finish(leaving))
        leaving, finishing = self._closing
        try:
            await asyncio.shield(finishing)
        except asyncio.CancelledError:
            leaving.cancel()  # no more patience, but nothing stays open either
            await asyncio.wait((finishing,))
            raise

    async def _finish(self, leaving: asyncio.Task[None]) -> None:
        await asyncio.wait((leaving,))
        await self._release()

    async def _leave(self, patience: float) -> None:
        """Give the server time to leave."""

    async def _release(self) -> None:
        """Close everything that is held for the server."""

    def ended(self, error: ServerGone | None) -> None:
        """The server went away, or broke the rules and is left alone from now on."""
        self.wire.fail(error or ServerGone("the MCP server closed the connection", details=self.describe()))

    def describe(self) -> dict[str, object]:
        """What is known of the server's state, for the details of errors."""
        return {}

    def serve(self, method: str, params: Mapping[str, object]) -> Served:
        """Answer a request of the server with `result` or `error`, now or later; None drops it."""
        if not self.legacy:
            return None  # a stateless server asks nothing, and must be sent no replies
        match method:
            case "ping":
                return {"result": {}}
            case "roots/list":
                self.denied[method] += not self._roots
                return {"result": {"roots": self._roots}}
            case "sampling/createMessage":
                self.denied[method] += 1
                return NO_MODEL
            case "elicitation/create":
                if self.answer is None or self._questions >= _MOST_QUESTIONS:
                    self.denied[method] += 1
                    return DECLINE
                self._questions += 1
                return self._ask(self.answer, params)
        return _NO_METHOD

    async def _ask(self, answer: Answer, params: Mapping[str, object]) -> Mapping[str, object]:
        try:
            return await respond_to_one(answer, params)
        finally:
            self._questions -= 1

    def notice(self, method: str, params: Mapping[str, object]) -> bool:
        """A notification came; whether it was of use."""
        if method == "notifications/tools/list_changed":
            self.tools_changed = True
            return True
        return False


class Session:
    """An open connection to one server. Any number of tasks may use it at once."""

    def __init__(self, link: Link) -> None:
        self.peer = Peer(version="")
        self._link = link
        self._answer = link.answer
        self._meta: dict[str, object] = {}
        self._modern = False

    @property
    def is_open(self) -> bool:
        """Whether calls can still be made; once not, the session is to be closed, and a new one opened."""
        return self._link.wire.is_open

    @property
    def pid(self) -> int | None:
        """The process that was started for it, if one was."""
        return self._link.pid

    @property
    def tools_changed(self) -> bool:
        """Whether the server said that its tools changed since they were last listed."""
        return self._link.tools_changed

    @property
    def denied(self) -> Mapping[str, int]:
        """How often the server asked for something that it did not get, by method."""
        return dict(self._link.denied)

    @property
    def dropped(self) -> Mapping[str, int]:
        """How much came from the server and was of no use, by kind."""
        return self._link.wire.dropped

    async def open(self, *, era: Era | None, timeout: float, probe: float) -> Session:
        """Agree on a protocol, within `timeout` seconds: `peer` says which. Closes the link on a failure."""
        asking: dict[str, object] = {"elicitation": {}} if self._answer is not None else {}
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        try:
            await self._link.start(timeout)
            left = max(until - loop.time(), 0.0)
            self.peer = await meet(self._link.wire, era=era, asking=asking, timeout=left, probe=probe)
        except BaseException:  # closed, and raised again
            await self._link.close(patience=0)
            raise
        self._modern = self.peer.era == "modern"
        self._link.legacy = not self._modern
        self._meta = request_meta(asking) if self._modern else {}
        return self

    async def list_tools(self, *, timeout: float = IDLE) -> list[dict[str, object]]:
        """Every tool as the server describes it, from all pages, within `timeout` seconds."""
        self._link.tools_changed = False
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout
        tools: list[dict[str, object]] = []
        cursors: set[str] = set()
        params: dict[str, object] = {}
        for _ in range(MOST_PAGES):
            left = until - loop.time()
            if left <= 0:
                raise StepTimeout(f"`tools/list` was not done within {timeout:g} s", details={"tools": len(tools)})
            result = await self.request("tools/list", params, timeout=left, cap=left)
            tools += _read_tools(result, len(tools))
            cursor = result.get("nextCursor")
            if cursor is None:
                return tools
            if not isinstance(cursor, str) or cursor in cursors:
                raise ServerError(
                    "the MCP server repeats the pages of its list of tools", details={"cursor": excerpt(cursor)}
                )
            if len(tools) > MOST_TOOLS:
                raise ServerError(f"the MCP server has more than {MOST_TOOLS:,} tools")
            cursors.add(cursor)
            params = {"cursor": cursor}
        raise ServerError(f"the MCP server's list of tools has more than {MOST_PAGES} pages")

    async def call_tool(self, name: str, arguments: JsonView, **patience: Unpack[Patience]) -> dict[str, object]:
        """The result of a tool as the server gave it, `isError` and all.

        Raises `ServerError` and what is below it, and `StepTimeout`.
        """
        return await self.request("tools/call", {"name": name, "arguments": arguments}, **patience)

    async def request(self, method: str, params: JsonView, **patience: Unpack[Patience]) -> dict[str, object]:
        """The complete result of any request; what the server asks for on the way is answered, if we can."""
        wire = self._link.wire
        if not self._modern:
            meta = self._meta if method == "tools/call" else None
            return await wire.request(method, params, meta=meta, **patience)
        asked, name = params, params.get("name", method)
        for _ in range(_MOST_ROUNDS):
            result = await wire.request(method, asked, meta=self._meta, **patience)
            kind = result.get("resultType", "complete")
            if kind == "complete":
                return result
            if kind != "input_required":
                raise ServerError(
                    "the MCP server gave a result of a kind that is not known", details={"kind": excerpt(kind)}
                )
            asked = {**params, **await self._respond(result, name)}
        raise InputNeeded(f"`{name}` asks again and again", details={"rounds": _MOST_ROUNDS})

    async def close(self) -> None:
        """End the session, and the server if it is ours. Calls in flight fail."""
        await self._link.close()

    async def _respond(self, result: JsonView, name: object) -> dict[str, object]:
        """What goes into the retry: the answers, and the server's own note to itself."""
        requests = result.get("inputRequests")
        added: dict[str, object] = {}
        if result.get("requestState") is not None:
            added["requestState"] = result["requestState"]
        if isinstance(requests, dict) and requests:
            if self._answer is None:
                self._link.denied.update(asked_in(requests))
                raise InputNeeded(f"`{name}` needs input", details={"asked": excerpt(requests)})
            added["inputResponses"] = await respond(self._answer, requests)
        elif not added:
            raise ServerError("the MCP server needs input and does not say which")
        return added


def _read_tools(result: Mapping[str, object], before: int) -> list[dict[str, object]]:
    tools = result.get("tools")
    if not isinstance(tools, list):
        raise ServerError("the MCP server gave no list of tools", details={"has": excerpt(sorted(result))})
    for position, tool in enumerate(tools):
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
            raise ServerError(f"entry {before + position} of the MCP server's list of tools is not a tool with a name")
    return tools
