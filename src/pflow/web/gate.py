"""Checks every request for the page: it must name this server, carry its token, and not come from a foreign page.

Any page in a browser can reach a server on this machine. So each request is checked before anything is read or done.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from pflow.core.frozen import Frozen

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BYTES = 1 << 20
"""Of the body of a request."""

KEY = "k"
"""The parameter of the first address that holds the token."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Refusal(Frozen):
    """Why a request goes no further."""

    status: int
    message: str


_NO_TOKEN = Refusal(
    status=403,
    message="this page needs the link that `pflow ui` prints: run `pflow ui` in a terminal, and open what it says",
)
_TOO_LARGE = Refusal(status=413, message=f"a request may have {MOST_BYTES:,} bytes at most")


class Gate:
    """An application in front of another. `port` is where it is served, `token` what opens it."""

    def __init__(self, app: Application, *, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._token = token
        self.cookie = f"pflow_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, let in whoever has the token, or refuse."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = _headers(scope)
        found = self._check(scope, headers)
        if found is None and (key := _key(scope)) is not None:
            await self._let_in(scope, key, send)
            return
        if found is None and not self._knows(self._cookie(headers)):
            found = _NO_TOKEN
        if found is not None:
            await _refuse(found, send)
            return
        await self._app(scope, _Bounded(receive).receive, _with_headers(send))

    def _check(self, scope: Scope, headers: dict[str, str]) -> Refusal | None:
        if headers.get("host", "").lower() not in self._hosts:
            return Refusal(status=403, message="this server is not known under that Host")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return Refusal(status=403, message="pages of that Origin may not use this server")
        if scope["method"] not in ("GET", "HEAD"):
            if origin != f"http://{headers['host']}":
                return Refusal(status=403, message="a request that changes something must name its Origin")
            if headers.get("x-pflow") != "1":
                return Refusal(status=403, message="a request that changes something needs the header `X-Pflow: 1`")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            return Refusal(status=400, message="Content-Length is not a number")
        return _TOO_LARGE if len(length) > 9 or int(length) > MOST_BYTES else None

    def _cookie(self, headers: dict[str, str]) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _knows(self, given: str) -> bool:
        # Digests have one length, and comparing them takes the same time wherever they differ.
        return compare_digest(sha256(given.encode()).digest(), sha256(self._token.encode()).digest())

    async def _let_in(self, scope: Scope, key: str, send: Send) -> None:
        """Trade the token in the address for a cookie, and go on to the address without it.

        That is a page and not a redirect: a browser sends no strict cookie along with a redirect that began elsewhere.
        """
        if scope["method"] != "GET" or not self._knows(key):
            await _refuse(_NO_TOKEN, send)
            return
        path = scope.get("raw_path") or scope["path"].encode()
        target = path.decode("ascii", "replace").replace("&", "").replace('"', "").replace("<", "").replace("\\", "/")
        target = "/" + target.lstrip("/")
        body = (
            f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={target}">'
            '<link rel="icon" href="data:,"><title>pflow</title>'
        )
        cookie = f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        await _send(send, 200, body, "text/html; charset=utf-8", ((b"set-cookie", cookie.encode()),))


class _Bounded:
    """A body that must not be larger than it may be, whatever its head said."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0

    async def receive(self) -> Message:
        """The next part."""
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message


def _headers(scope: Scope) -> dict[str, str]:
    """The head by lower-case names; of a name that is given twice, nothing that could match."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        found[key] = f"{found[key]}\0{value.decode('latin-1')}" if key in found else value.decode("latin-1")
    return found


def _key(scope: Scope) -> str | None:
    found = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=20).get(KEY)
    return None if not found else found[0]


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sent


async def _refuse(refusal: Refusal, send: Send) -> None:
    await _send(send, refusal.status, f"{refusal.message}\n", "text/plain; charset=utf-8", ((b"connection", b"close"),))


async def _send(send: Send, status: int, text: str, kind: str, more: tuple[tuple[bytes, bytes], ...]) -> None:
    body = text.encode()
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    headers += [(b"cache-control", b"no-store"), *HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
