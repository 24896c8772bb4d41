"""Checks requests over HTTP: they must name this server, not come from a foreign page, and carry token and message.

A page in a browser can reach a server on this machine, under a name of the page's choosing. So every request is
checked, whatever address the server listens on, before its body is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from pflow.core.frozen import Frozen
from pflow.mcp_server.message import INVALID_REQUEST, Refused, read_message

PATH = "/mcp"
"""Where messages are taken."""

MOST_BYTES = 4 << 20
"""Bytes that a request may have. A document has at most a quarter of that."""

PATIENCE_SECONDS = 30.0
"""How long a body may take to arrive."""

Headers = Iterable[tuple[bytes, bytes]]
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Refusal(Frozen):
    """Why a request goes no further; `reply` is the answer to a body that is not a message."""

    status: int
    message: str
    reply: bytes = b""


_TOO_LARGE = Refusal(status=413, message=f"a request may have {MOST_BYTES:,} bytes at most")


class Gate:
    """An application in front of another."""

    def __init__(
        self, app: Application, *, hosts: Iterable[str], token: str, patience: float = PATIENCE_SECONDS
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(f"{scheme}://{host}" for host in self._hosts for scheme in ("http", "https"))
        self._token = sha256(token.encode()).digest()
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its whole body, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        found = self.check(scope["headers"]) or await self._read(receive)
        if isinstance(found, bytes) and scope["method"] == "POST" and scope["path"] == PATH:
            found = _check_message(found)
        if isinstance(found, Refusal):
            await answer_refusal(found, send)
        else:
            await self._app(scope, replay(found, receive), send)

    def check(self, headers: Headers) -> Refusal | None:
        """What is wrong with the head of a request; None if nothing is."""
        found: dict[bytes, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value.decode("latin-1"))
        hosts = found.get(b"host", [])
        if len(hosts) > 1:
            return Refusal(status=400, message="there is more than one Host header")
        if not hosts or hosts[0].lower() not in self._hosts:
            return Refusal(status=421, message="this server is not known under that Host")
        origins = found.get(b"origin", [])
        if any(origin.lower() not in self._origins for origin in origins):
            return Refusal(status=403, message="pages of that Origin may not use this server")
        if not self._knows(found.get(b"authorization", [])):
            return Refusal(status=401, message="the bearer token is missing or wrong")
        sizes = found.get(b"content-length", [])
        if any(not size.isascii() or not size.isdecimal() or len(size) > 18 for size in sizes):
            return Refusal(status=400, message="Content-Length is not a number")
        if any(int(size) > MOST_BYTES for size in sizes):
            return _TOO_LARGE
        return None

    def _knows(self, given: list[str]) -> bool:
        if len(given) != 1:
            return False
        scheme, _, token = given[0].partition(" ")
        # Digests have one length, and comparing them takes the same time wherever they differ.
        return compare_digest(sha256(token.strip().encode()).digest(), self._token) and scheme.lower() == "bearer"

    async def _read(self, receive: Receive) -> bytes | Refusal:
        body = bytearray()
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return Refusal(status=400, message="the request ended early")
                    body += message.get("body", b"")
                    if len(body) > MOST_BYTES:
                        return _TOO_LARGE
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            return Refusal(status=408, message=f"the request took more than {self._patience:g} s to arrive")


def _check_message(body: bytes) -> bytes | Refusal:
    message = read_message(body)
    if isinstance(message, Refused):
        return Refusal(status=400, message=message.message, reply=message.reply())
    return body


def replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body at once, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def answer_refusal(refusal: Refusal, send: Send) -> None:
    """Tell the client why its request goes no further."""
    body = refusal.reply or Refused(code=INVALID_REQUEST, message=refusal.message).reply()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # the rest of the request is not read
    if refusal.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="pflow"'))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
