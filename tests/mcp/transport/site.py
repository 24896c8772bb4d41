"""A small MCP server over HTTP that misbehaves as told, on nothing but the standard library.

A behaviour is a function of the site, a request and an `Out`; `STAGE:NAME` has it at discover, initialize, initialized,
list, get, delete, tools (list and call) or any, a plain name at the call of a tool. All else is done properly.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

MODERN = "2026-07-28"
STAGES = {
    "server/discover": "discover",
    "initialize": "initialize",
    "notifications/initialized": "initialized",
    "tools/list": "list",
    "tools/call": "call",
}


class Request:
    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.message: Any = json.loads(body) if body else {}

    @property
    def rpc(self) -> str:
        method: str = self.message.get("method", "")
        return method

    @property
    def listens(self) -> bool:
        return self.method == "GET" and "last-event-id" not in self.headers

    @property
    def id(self) -> Any:
        return self.message.get("id")

    @property
    def params(self) -> dict[str, Any]:
        return self.message.get("params") or {}

    @property
    def token(self) -> Any:
        return self.params.get("_meta", {}).get("progressToken")


class Out:
    """The way back of one connection."""

    def __init__(self, site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.site = site
        self.reader = reader
        self.writer = writer

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, status: int, body: bytes = b"", kind: str = "", **headers: str) -> None:
        lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}"]
        lines += [f"content-type: {kind}"] if kind else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    async def json(self, message: Any, status: int = 200, **headers: str) -> None:
        await self.reply(status, json.dumps(message).encode(), "application/json", **headers)

    async def stream(self, **headers: str) -> None:
        """Begin a stream of events."""
        lines = ["HTTP/1.1 200 OK", "content-type: text/event-stream", "transfer-encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, message: Any, *, id: str = "") -> None:
        await self.chunk((f"id: {id}\n" if id else "").encode() + b"data: %s\n\n" % json.dumps(message).encode())

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    def hang_up(self) -> None:
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        try:
            while await self.reader.read(1000):
                pass
        except ConnectionError:
            pass


Behaviour = Callable[["Site", Request, Out], Awaitable[None]]
BEHAVIOURS: dict[str, Behaviour] = {}


def behaviour(*names: str) -> Callable[[Behaviour], Behaviour]:
    def note(function: Behaviour) -> Behaviour:
        for name in names or (function.__name__.replace("_", "-"),):
            BEHAVIOURS[name] = function
        return function

    return note


class Site:
    """A server on a free port. `style` is how it answers: `json` or `sse`."""

    def __init__(self, era: str, doing: str = "", *, style: str = "json", tls: ssl.SSLContext | None = None) -> None:
        self.era = era
        self.stage, _, self.doing = doing.rpartition(":")
        self.stage = self.stage or "call"
        self.style = style
        self.tls = tls
        self.requests: list[Request] = []
        self.sessions: set[str] = set()
        self.connections = 0
        self.cancelled = asyncio.Event()
        self.other: Site | None = None
        self.memory: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/mcp"

    async def __aenter__(self) -> Site:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self.tls, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while request := await self._read(reader):
                self.requests.append(request)
                await self._handle(request, Out(self, reader, writer))
        except (ConnectionError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ")
        return Request(method, path, headers, body)

    async def _handle(self, request: Request, out: Out) -> None:
        stage = STAGES.get(request.rpc, request.method.lower())
        resumes = request.method == "GET" and not request.listens
        here = (stage, "any", "tools" if stage in ("list", "call") else "resume" if resumes else "")
        if self.doing and self.stage in here:
            await BEHAVIOURS[self.doing](self, request, out)
        elif request.method == "DELETE":
            self.sessions.discard(request.headers.get("mcp-session-id", ""))
            await out.reply(200)
        elif request.method != "POST":
            await out.reply(405)
        elif request.params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion") == MODERN:
            await self._serve_modern(request, out)
        else:
            await self._serve_legacy(request, out)

    async def _serve_modern(self, request: Request, out: Out) -> None:
        headers = request.headers
        if self.era != "modern":
            await out.json(failure(None, -32000, "Bad Request: no valid session ID provided"), 400)
        elif headers.get("mcp-protocol-version") != MODERN or headers.get("mcp-method") != request.rpc:
            await out.json(failure(request.id, -32020, "Header mismatch"), 400)
        elif request.rpc == "server/discover":
            info = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": {"name": "site"}}
            await self.answer(request, out, info)
        elif request.rpc in ("tools/list", "tools/call"):
            await self._serve(request, out)
        else:
            await out.json(failure(request.id, -32601, "Method not found"), 404)

    async def _serve_legacy(self, request: Request, out: Out) -> None:
        if self.era == "modern":
            await out.json(failure(request.id, -32020, "Header mismatch"), 400)
        elif request.rpc == "initialize":
            session = f"s{len(self.requests)}"
            self.sessions.add(session)
            info = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "site"}}
            await self.answer(request, out, info, mcp_session_id=session)
        elif request.headers.get("mcp-session-id") not in self.sessions:
            await out.json(failure(request.id, -32600, "Session not found"), 404)
        elif request.id is None or not request.rpc:
            await out.reply(202)
        else:
            await self._serve(request, out)

    async def _serve(self, request: Request, out: Out) -> None:
        if request.rpc == "tools/list":
            await self.answer(request, out, {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]})
        else:
            await self.answer(request, out, said(request))

    async def answer(self, request: Request, out: Out, result: dict[str, Any], **headers: str) -> None:
        message = self.message(request, result)
        if self.style == "json":
            await out.json(message, 200, **headers)
        else:
            await out.stream(**headers)
            await out.event(message)
            await out.end()

    def message(self, request: Request, result: dict[str, Any]) -> dict[str, Any]:
        kind = {"resultType": "complete"} if self.era == "modern" else {}
        return {"jsonrpc": "2.0", "id": request.id, "result": {**kind, **result}}

    def good(self, request: Request) -> dict[str, Any]:
        return self.message(request, said(request))

    def seen(self) -> list[str]:
        """What it was asked, in order, but for the stream that an older server may offer beside."""
        return [request.rpc or request.method for request in self.requests if not request.listens]


def said(request: Request) -> dict[str, Any]:
    return text(str((request.params.get("arguments") or {}).get("text", "")))


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def failure(number: Any, code: int, message: str, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message, **more}}


def progress(request: Request, done: float) -> dict[str, Any]:
    params = {"progressToken": request.token, "progress": done}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


# ---- answers that are no message


def answer_with(status: int, body: bytes = b"", kind: str = "", **headers: str) -> Behaviour:
    async def behave(site: Site, request: Request, out: Out) -> None:
        await out.reply(status, body, kind, **headers)

    return behave


BEHAVIOURS |= {
    "html": answer_with(200, b"<html>Welcome to our portal", "text/html; charset=utf-8"),
    "no-type": answer_with(200, b"{}"),
    "odd-type": answer_with(200, b"{}", "\xff\xfe;;=;\x01"),
    "empty": answer_with(200, b"", "application/json"),
    "junk": answer_with(200, b"{oops", "application/json"),
    "number": answer_with(200, b"7", "application/json"),
    "nothing": answer_with(202),
    "no-content": answer_with(204),
    "not-found": answer_with(404, b"no such page", "text/plain"),
    "no-method": answer_with(405),
    "bad-request": answer_with(400, b"what?", "text/plain"),
    "error-500": answer_with(500, b"database \x1b[31mdown", "text/plain"),
    "error-503": answer_with(503, b"", retry_after="120"),
    "unauthorised": answer_with(401, b'{"error":"invalid_token","error_description":"expired"}', "application/json"),
    "forbidden": answer_with(403, b"", "text/plain"),
    "too-many": answer_with(429, b"", retry_after="7"),
    "too-many-until": answer_with(429, b"", retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "too-many-odd": answer_with(429, b"", retry_after="soon"),
    "odd-status": answer_with(299, b"x", "text/plain"),
    "status-999": answer_with(999, b"x", "text/plain"),
    "deep": answer_with(200, b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 90_000 + b"]" * 90_000, "application/json"),
    "broken-gzip": answer_with(200, b"this is not gzip", "application/json", content_encoding="gzip"),
    "gzip-bomb": answer_with(200, gzip.compress(b" " * (64 << 20)), "application/json", content_encoding="gzip"),
}


@behaviour()
async def error_in_400(site: Site, request: Request, out: Out) -> None:
    await out.json(failure(None, -32602, "that will not do"), 400)


@behaviour()
async def other_versions(site: Site, request: Request, out: Out) -> None:
    code = site.memory["code"] if request.rpc == "initialize" else -32022
    await out.json(failure(request.id, code, "no", data={"supported": ["2099-01-01"], "requested": "x"}), 400)


@behaviour()
async def session_lost_400(site: Site, request: Request, out: Out) -> None:
    await out.json(failure(None, -32000, "Bad Request: No valid session ID provided"), 400)


@behaviour()
async def session_lost(site: Site, request: Request, out: Out) -> None:
    site.sessions.clear()
    await site._serve_legacy(request, out)


@behaviour()
async def echoes_credentials(site: Site, request: Request, out: Out) -> None:
    await out.reply(500, f"bad token {request.headers.get('authorization')}".encode(), "text/plain")


# ---- what is wrong with the connection


@behaviour()
async def silence(site: Site, request: Request, out: Out) -> None:
    await out.gone()
    site.cancelled.set()


@behaviour()
async def hangs_up(site: Site, request: Request, out: Out) -> None:
    out.hang_up()


@behaviour()
async def no_http(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"220 smtp.example.com ESMTP ready\r\n")
    out.hang_up()


@behaviour()
async def half_head(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 200 OK\r\ncontent-type: applic")
    out.hang_up()


@behaviour()
async def half_body(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n{")
    out.hang_up()


@behaviour()
async def endless_head(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await out.raw(b"x-more: " + b"x" * 1000 + b"\r\n")


@behaviour()
async def dribbled_head(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 200 OK\r\nx-more: ")
    while True:
        await out.raw(b"x")
        await asyncio.sleep(0.01)


@behaviour()
async def endless_hints(site: Site, request: Request, out: Out) -> None:
    while True:
        await out.raw(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await asyncio.sleep(0.001)


@behaviour()
async def endless_body(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n")
    while True:
        await out.raw(b" " * 65536)


@behaviour()
async def endless_error_body(site: Site, request: Request, out: Out) -> None:
    await out.raw(b"HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n")
    while True:
        await out.raw(b"no " * 20000)


@behaviour()
async def bad_chunks(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.raw(b"ZZZ\r\nhello\r\n")


# ---- redirects


@behaviour()
async def moved(site: Site, request: Request, out: Out) -> None:
    if request.path == "/new":
        await out.json(site.good(request))
    else:
        await out.reply(307, b"over there", location="/new")


@behaviour()
async def moved_for_ever(site: Site, request: Request, out: Out) -> None:
    await out.reply(308, location=request.path + "x")


@behaviour()
async def moved_away(site: Site, request: Request, out: Out) -> None:
    assert site.other is not None
    await out.reply(site.memory.get("status", 307), location=site.other.url)


@behaviour()
async def moved_by_301(site: Site, request: Request, out: Out) -> None:
    await out.reply(301, location="/new")


@behaviour()
async def moved_to(site: Site, request: Request, out: Out) -> None:
    await out.reply(307, location=site.memory["to"])


# ---- messages that are not as they should be


@behaviour()
async def wrong_id(site: Site, request: Request, out: Out) -> None:
    await out.json({**site.good(request), "id": 4711})


@behaviour()
async def string_id(site: Site, request: Request, out: Out) -> None:
    await out.json({**site.good(request), "id": str(request.id)})


@behaviour()
async def batch(site: Site, request: Request, out: Out) -> None:
    await out.json([{"jsonrpc": "2.0", "method": "x"}, site.good(request)])


@behaviour()
async def long_number(site: Site, request: Request, out: Out) -> None:
    body = b'{"result":{"a":%s},"id":%d,"jsonrpc":"2.0"}' % (b"9" * 10000, request.id)
    await out.reply(200, body, "application/json")


@behaviour()
async def lone_surrogate(site: Site, request: Request, out: Out) -> None:
    body = b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\\ud800"}}' % request.id
    await out.reply(200, body, "application/json")


@behaviour()
async def gzipped(site: Site, request: Request, out: Out) -> None:
    await out.reply(
        200, gzip.compress(json.dumps(site.good(request)).encode()), "application/json", content_encoding="gzip"
    )


@behaviour()
async def headers_back(site: Site, request: Request, out: Out) -> None:
    await site.answer(request, out, text(json.dumps(request.headers)))


@behaviour()
async def sets_cookie(site: Site, request: Request, out: Out) -> None:
    await site.answer(request, out, {"tools": []}, set_cookie="lb=7; Path=/; HttpOnly")


@behaviour()
async def odd_session(site: Site, request: Request, out: Out) -> None:
    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "site"}}
    await site.answer(request, out, info, mcp_session_id="x" * 5000)


@behaviour()
async def input_required(site: Site, request: Request, out: Out) -> None:
    asked = {"name": {"method": "elicitation/create", "params": {"message": "who?"}}}
    await site.answer(request, out, {"resultType": "input_required", "inputRequests": asked})


# ---- streams


@behaviour()
async def odd_stream(site: Site, request: Request, out: Out) -> None:
    """Everything that the standard allows: a BOM, comments, every line end, data in several lines, other fields."""
    message = json.dumps(site.good(request), indent=1).encode()
    await out.stream()
    await out.chunk(b"\xef\xbb\xbf: hello\r\n\r\n:\rretry: 5\rretry: x\rid\r\rfoo: bar\nevent: other\ndata: {}\n\n")
    lines = b"".join(b"data: " + line + b"\r\n" for line in message.split(b"\n"))
    for position in range(0, len(lines), 7):
        await out.chunk(lines[position : position + 7])
    await out.chunk(b"\r\n")
    await out.end()


@behaviour()
async def no_blank_line(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.chunk(b"data: %s" % json.dumps(site.good(request)).encode())
    await out.end()


@behaviour()
async def stream_of_nothing(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.end()


@behaviour()
async def stream_of_junk(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.chunk(b"data: {oops\n\ndata: 7\n\nnonsense\n\n")
    await out.event({**site.good(request), "id": 4711})
    await out.event(site.good(request))
    await out.end()


@behaviour()
async def half_stream(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.chunk(b'data: {"jsonrpc":"2.0","id":')
    out.hang_up()


@behaviour()
async def twice(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.event(site.good(request))
    await out.event(site.message(request, text("second")))
    await out.end()


@behaviour()
async def stays_open(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.event(site.good(request))
    await out.gone()
    site.cancelled.set()


@behaviour()
async def endless_event(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    while True:
        await out.chunk(b"data: " + b"x" * 65536 + b"\n")


@behaviour()
async def endless_line(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    while True:
        await out.chunk(b"x" * 65536)


@behaviour()
async def endless_comments(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    while True:
        await out.chunk(b": still here\n\n" * 100)
        await asyncio.sleep(0.001)


@behaviour()
async def zipped_comments(site: Site, request: Request, out: Out) -> None:
    await out.stream(content_encoding="gzip")
    packed = gzip.compress(b":\n" * (1 << 20))
    await out.chunk(packed)
    await out.gone()


@behaviour("progress")
async def reports_progress(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    for step in range(1, 4):
        await out.event(progress(request, step))
    await out.event(site.good(request))
    await out.end()


@behaviour()
async def slow_with_progress(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    for step in range(8):
        await out.event(progress(request, step))
        await asyncio.sleep(0.1)
    await out.event(site.good(request))
    await out.end()


@behaviour()
async def endless_progress(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    for step in range(10**6):
        await out.event(progress(request, step))
        await asyncio.sleep(0.02)


@behaviour()
async def silent_stream(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.gone()
    site.cancelled.set()


@behaviour()
async def list_changed(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    await out.event(site.good(request))
    await out.end()


@behaviour()
async def asks(site: Site, request: Request, out: Out) -> None:
    """Ask the client, and answer with what it answered."""
    asked = ["ping", "roots/list", "elicitation/create", "sampling/createMessage"]
    await out.stream()
    for position, method in enumerate(asked):
        await out.event({"jsonrpc": "2.0", "id": f"q{position}", "method": method, "params": {}})
    answers: dict[str, Any] = {}
    while site.era == "legacy" and len(answers) < len(asked):
        await asyncio.sleep(0.005)
        for other in site.requests:
            if not other.rpc and other.message:
                answers[other.id] = other.message.get("result", other.message.get("error", {}).get("code"))
    await out.event(site.message(request, text(json.dumps(answers, sort_keys=True))))
    await out.end()


@behaviour()
async def asks_for_ever(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    for position in range(3000):
        await out.event({"jsonrpc": "2.0", "id": position, "method": "ping"})
    await out.event(site.good(request))
    await out.end()


# ---- streams that are resumed


@behaviour()
async def breaks_off(site: Site, request: Request, out: Out) -> None:
    """End a stream after an event with an id; the rest comes by GET."""
    site.memory["request"] = request
    site.stage = "resume"
    site.doing = "goes-on"
    await out.stream()
    await out.chunk(b"retry: 1\nid: e1\ndata:\n\n")
    out.hang_up()


@behaviour()
async def ends_early(site: Site, request: Request, out: Out) -> None:
    site.memory["request"] = request
    site.stage = "resume"
    site.doing = "goes-on"
    await out.stream()
    await out.chunk(b"retry: 1\nid: e1\ndata:\n\n")
    await out.end()


@behaviour()
async def goes_on(site: Site, request: Request, out: Out) -> None:
    if request.headers.get("last-event-id") == "e1":
        await out.stream()
        await out.event(progress(site.memory["request"], 1), id="e2")
        out.hang_up()
    else:
        await out.stream()
        await out.event(site.good(site.memory["request"]), id="e3")
        await out.end()


@behaviour()
async def breaks_off_for_good(site: Site, request: Request, out: Out) -> None:
    site.stage = "resume"
    site.doing = "hangs-up"
    await out.stream()
    await out.chunk(b"retry: 1\nid: e1\ndata:\n\n")
    out.hang_up()


@behaviour()
async def breaks_off_and_forgets(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.chunk(b"retry: 1\nid: e1\ndata:\n\n")
    out.hang_up()


# ---- streams beside the requests


@behaviour()
async def tells_of_changes(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    await out.event({"jsonrpc": "2.0", "id": "q", "method": "ping"})
    await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, id="e1")
    await out.gone()
    site.cancelled.set()


@behaviour()
async def tells_in_parts(site: Site, request: Request, out: Out) -> None:
    await out.stream()
    if request.headers.get("last-event-id") == "e1":
        await out.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await out.gone()
    else:
        await out.chunk(b"retry: 1\nid: e1\ndata:\n\n")
        out.hang_up()


# ---- arguments in headers


@behaviour()
async def wants_headers(site: Site, request: Request, out: Out) -> None:
    place = {"type": "object", "properties": {"zone": {"type": "boolean", "x-mcp-header": "Zone"}}}
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "x-mcp-header": "Text"}, "place": place, "n": {"type": "integer"}},
    }
    bad = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
    if request.rpc == "tools/list":
        await site.answer(
            request, out, {"tools": [{"name": "echo", "inputSchema": schema}, {"name": "bad", "inputSchema": bad}]}
        )
    elif "mcp-param-text" in request.headers:
        await site.answer(
            request, out, text(json.dumps({k: v for k, v in request.headers.items() if k.startswith("mcp-")}))
        )
    else:
        await out.json(failure(request.id, -32020, "Header mismatch: Mcp-Param-Text is missing"), 400)
