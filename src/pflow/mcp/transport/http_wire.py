"""Messages over Streamable HTTP: each one is a POST, and the answer to it holds the reply or a stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Unpack

from pflow.core.errors import ReplyError, ServerError, ServerGone
from pflow.core.json_type import JsonView
from pflow.core.printable import shorten
from pflow.mcp.protocol.handshake import LEGACY
from pflow.mcp.protocol.json_line import LINE_LIMIT
from pflow.mcp.protocol.rpc import IDLE, Call, Patience, Rpc, encode
from pflow.mcp.protocol.rpc_reply import INVALID
from pflow.mcp.protocol.session import Link
from pflow.mcp.transport.http_header import (
    MISMATCH,
    VERSION_KEY,
    Mirrored,
    modern_version,
    read_mirrored,
    routing_headers,
)
from pflow.mcp.transport.http_refusal import ends_session, misfit, read_refusal, refusal
from pflow.mcp.transport.sse import Events

if TYPE_CHECKING:
    from pflow.http.client import Answer
    from pflow.mcp.transport.http_channel import Channel

JSON = "application/json"
STREAM = "text/event-stream"
STREAM_LIMIT = 16 * LINE_LIMIT
"""Bytes that one stream may have in all, also where it broke off and was resumed."""

MOST_RESUMES = 5
"""How often in a row a stream may break off without anything new."""

LINGER = 0.25
"""Seconds that a stream may stay open after the reply; one that ends in time leaves its connection for the next."""

_RETRY_SECONDS = 1.0
_RETRY_LEAST, _RETRY_MOST = 0.05, 30.0
_MOST_POSTS = 64
_MOST_PAGES = 20
_MOST_STREAMS = 200
_LONGEST_SESSION = 4096
POST = {"accept": f"{JSON}, {STREAM}", "content-type": JSON}


class HttpWire(Rpc):
    """A server behind an address: stateless, or with a session that it may end."""

    def __init__(self, channel: Channel, link: Link, *, limit: int = LINE_LIMIT) -> None:
        super().__init__(link)
        self._channel = channel
        self._limit = limit
        self._endpoint = ""
        self._session = ""
        self._version = ""
        self._greeted: asyncio.Task[None] | None = None
        self._exchanges: dict[int, asyncio.Task[None]] = {}
        self._posts: set[asyncio.Task[None]] = set()
        self._mirrored: dict[str, Mirrored] = {}

    async def request(
        self, method: str, params: JsonView, *, meta: JsonView | None = None, **patience: Unpack[Patience]
    ) -> dict[str, object]:
        """The result of a request; what the server says of itself in some is remembered for those that follow."""
        modern = meta is not None and VERSION_KEY in meta
        try:
            result = await super().request(method, params, meta=meta, **patience)
        except ReplyError as error:
            name = params.get("name")
            if not modern or error.number not in MISMATCH or not isinstance(name, str) or name in self._mirrored:
                raise
            # The tool wants arguments repeated in headers, and was never listed here. Nothing has been done yet.
            await self._look_up(name, meta or {}, patience.get("timeout", IDLE))
            if name not in self._mirrored:
                raise
            return await super().request(method, params, meta=meta, **patience)
        if method == "initialize":
            version = result.get("protocolVersion")
            self._version = version if isinstance(version, str) and version in LEGACY else ""
        elif modern and method == "tools/list":
            result = self._note_tools(result)
        return result

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification; after the one that ends the handshake, requests wait until the server has it."""
        task = self._spawn(self._deliver(encode({"jsonrpc": "2.0", "method": method, "params": params})))
        if method == "notifications/initialized":
            self._greeted = task
            self._overhear()

    async def listen(self, timeout: float) -> None:
        """Open the stream that replies come on; each answer is its own here."""

    async def leave(self) -> None:
        """Tell the server that the session is over."""
        if self._session:
            reply = await self._channel.send("DELETE", self._legacy_headers(), session=self._session)
            await reply.aclose()

    async def close(self) -> None:
        """End whatever is still under way; what is in flight must have been failed."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._exchanges.values(), *self._posts]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _transmit(self, number: int, call: Call, params: Mapping[str, object], data: bytes) -> None:
        version = modern_version(params)
        if version:
            name = params.get("name")
            mirrored = self._mirrored.get(name, {}) if isinstance(name, str) else {}
            headers = {**POST, **routing_headers(call.method, params, version, mirrored)}
        else:
            headers = {**POST, **self._legacy_headers()}
        task = self._loop.create_task(self._exchange(number, call, headers, data, bool(version)))
        self._exchanges[number] = task
        task.add_done_callback(partial(self._exchanged, number))

    def _send(self, data: bytes) -> None:
        self._spawn(self._deliver(data))

    def _is_busy(self) -> bool:
        return len(self._posts) >= _MOST_POSTS

    def _silence(self) -> None:
        current = asyncio.current_task(self._loop)
        for task in (*self._exchanges.values(), *self._posts):
            if task is not current:
                task.cancel()

    def _give_up(self, number: int, call: Call, reason: str) -> None:
        exchange = self._exchanges.get(number)
        if exchange is not None:
            exchange.cancel()  # which closes the stream, and that is all a stateless server needs to know
        if self._version:
            super()._give_up(number, call, reason)

    def _legacy_headers(self) -> dict[str, str]:
        return {"mcp-protocol-version": self._version} if self._version else {}

    # ---- one request

    async def _exchange(self, number: int, call: Call, headers: Mapping[str, str], data: bytes, modern: bool) -> None:
        await self._wait_for_greeting()
        session = "" if modern or call.method == "initialize" else self._session
        events = Events(self._limit)
        try:
            async with aclosing(await self._channel.send("POST", headers, data, session=session)) as reply:
                if not reply.succeeded:
                    await self._take_refusal(number, reply, in_session=bool(session))
                elif reply.kind == JSON:
                    self._note_session(call, reply)
                    self._take(await self._read(reply), number)
                elif reply.kind == STREAM:
                    self._note_session(call, reply)
                    await self._read_events(number, reply, events)
                else:
                    raise await misfit(reply, self._channel)
        except ServerGone:
            if modern or not events.last_id or not self.is_open:
                raise
        if number in self._calls and events.last_id and not modern:
            await self._resume(number, events)

    async def _read(self, reply: Answer) -> bytes:
        body, cut = await reply.read(self._limit)
        if cut:
            raise _overlong("an answer", self._limit, reply)
        return body

    async def _wait_for_greeting(self) -> None:
        if self._greeted is not None and not self._greeted.done():
            await asyncio.wait((self._greeted,))

    def _exchanged(self, number: int, task: asyncio.Task[None]) -> None:
        """A POST is over: if its request got no reply, none comes any more."""
        del self._exchanges[number]
        error = None if task.cancelled() else task.exception()
        call = self._calls.pop(number, None)
        if call is not None and not call.future.done():
            details = {"method": call.method, "cause": "it holds no reply to the request", **self._link.describe()}
            call.future.set_exception(error or ServerError(INVALID, details=details))

    def _note_session(self, call: Call, reply: Answer) -> None:
        if call.method == "initialize":
            number = reply.header("mcp-session-id")
            fits = 0 < len(number) <= _LONGEST_SESSION and number.isascii() and number.isprintable()
            self._session = number if fits else ""

    async def _read_events(self, number: int | None, reply: Answer, events: Events) -> None:
        """Take what a stream brings until it ends, or for a moment longer than the reply to `number` takes to come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit, aclosing(reply.chunks()) as chunks:
                async for chunk in chunks:
                    self._take_events(events.feed(chunk))
                    if events.overlong or events.size > STREAM_LIMIT:
                        overlong = ("an event", self._limit) if events.overlong else ("a stream", STREAM_LIMIT)
                        raise _overlong(*overlong, reply)
                    if number is not None and number not in self._calls and limit.when() is None:
                        limit.reschedule(self._loop.time() + LINGER)
                self._take_events(events.finish())

    def _take_events(self, events: list[tuple[str, bytes]]) -> None:
        for kind, data in events:
            if kind == "message":
                self._take(data)
            else:
                self.dropped["event"] += 1

    async def _resume(self, number: int, events: Events) -> None:
        """Ask for the rest of a stream that broke off, for as long as something new comes of it."""
        idle = 0
        while number in self._calls and idle < MOST_RESUMES:
            await asyncio.sleep(_pause(events))
            last = events.last_id
            events.restart()
            try:
                status = await self._read_rest(number, events)
            except ServerGone:
                status = 0
            if status >= 300:
                break
            idle = idle + 1 if events.last_id == last else 0
        if number in self._calls:
            raise ServerGone(
                "a stream of the MCP server broke off and could not be resumed", details=self._link.describe()
            )

    async def _read_rest(self, number: int, events: Events) -> int:
        async with aclosing(await self._ask_for_events(events)) as reply:
            if reply.succeeded and reply.kind == STREAM:
                await self._read_events(number, reply, events)
                return reply.status
            return max(reply.status, 300)

    async def _ask_for_events(self, events: Events) -> Answer:
        last = {"last-event-id": events.last_id} if events.last_id else {}
        headers = {"accept": STREAM, **last, **self._legacy_headers()}
        return await self._channel.send("GET", headers, session=self._session)

    # ---- what an older server says outside of requests

    def _overhear(self) -> None:
        self._spawn(self._listen_aside())

    async def _listen_aside(self) -> None:
        """Hear of changes, and what the server asks at other times, if it offers a stream for that."""
        await self._wait_for_greeting()
        events = Events(self._limit)
        idle = 0
        for _ in range(_MOST_STREAMS):
            before = events.size
            try:
                async with aclosing(await self._ask_for_events(events)) as reply:
                    if not reply.succeeded or reply.kind != STREAM:
                        return
                    await self._read_events(None, reply, events)
            except ServerError:
                self.dropped["stream"] += 1
            idle = idle + 1 if events.size == before else 0
            if idle == MOST_RESUMES or events.overlong or events.size > STREAM_LIMIT:
                return
            await asyncio.sleep(_pause(events))
            events.restart()

    # ---- answers that are not what was hoped for

    async def _take_refusal(self, number: int, reply: Answer, *, in_session: bool) -> None:
        """An error of the protocol in an answer that is an error of HTTP, too, else the latter."""
        said, message = await read_refusal(reply, self._channel)
        rpc = isinstance(message.get("error"), dict)
        if rpc and reply.status not in (401, 403, 429) and not ends_session(reply.status, said, in_session=in_session):
            self._dispatch({**message, "id": number})
            return
        error = refusal(reply, self._channel, said, in_session=in_session)
        if isinstance(error, ServerGone):
            self._link.ended(error)
        raise error

    # ---- what is sent without waiting

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        self._posts.add(task)
        task.add_done_callback(self._posted)
        return task

    def _posted(self, task: asyncio.Task[None]) -> None:
        self._posts.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.dropped["undelivered"] += 1

    async def _deliver(self, data: bytes) -> None:
        async with asyncio.timeout(IDLE):
            headers = {**POST, **self._legacy_headers()}
            reply = await self._channel.send("POST", headers, data, url=self._endpoint, session=self._session)
            if not reply.succeeded:
                self.dropped["undelivered"] += 1
            await reply.discard()

    # ---- arguments that are repeated in headers

    def _note_tools(self, result: dict[str, object]) -> dict[str, object]:
        """Remember which arguments go into headers; a tool that wants what is not allowed is left out."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        kept = []
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str):
                try:
                    self._mirrored[name] = read_mirrored(tool.get("inputSchema"))
                except ValueError as error:
                    self._link.warn(f"the tool `{shorten(name)}` cannot be used over HTTP: {error}")
                    continue
            kept.append(tool)
        return {**result, "tools": kept}

    async def _look_up(self, name: str, meta: Mapping[str, object], timeout: float) -> None:
        params: dict[str, object] = {}
        for _ in range(_MOST_PAGES):
            result = await self.request("tools/list", params, meta=meta, timeout=timeout, cap=timeout)
            cursor = result.get("nextCursor")
            if name in self._mirrored or not isinstance(cursor, str):
                return
            params = {"cursor": cursor}


def _overlong(what: str, limit: int, reply: Answer) -> ServerError:
    return ServerError(f"the MCP server sent {what} of more than {limit:,} bytes", details={"url": reply.place})


def _pause(events: Events) -> float:
    """Seconds to wait before a stream is asked for again: what the server says, within reason."""
    wait = _RETRY_SECONDS if events.retry is None else events.retry
    return min(max(wait, _RETRY_LEAST), _RETRY_MOST)
