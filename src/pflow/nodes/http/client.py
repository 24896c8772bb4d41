"""The one module that speaks HTTP: pinned connections, redirects checked hop by hop, bounded bodies.

It ignores proxies from the environment, keeps no cookies and reads no netrc. `SSL_CERT_FILE` and
`SSL_CERT_DIR` name further certificate authorities. Importing it costs about 120 ms.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.staggered import staggered_race
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

import httpcore2
import httpx2

from pflow import __version__
from pflow.core.errors import SecurityError, StepError, StepTimeout
from pflow.nodes.http.message import Reply, Request
from pflow.nodes.http.network_policy import NetworkPolicy, Resolve, checked_addresses, is_host_name, resolve_host

MAX_REDIRECTS = 5
_ERROR_BODY = 64 * 1024
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_FAILURES = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpx2.DecodingError,
)
_HARMLESS = frozenset({"accept", "accept-language", "accept-encoding", "user-agent"})
"""Request headers that another origin may see; any other one may be a credential."""


class HttpClient:
    """Connections under one policy, reused between calls. Close it on the loop that it was used on."""

    def __init__(self, policy: NetworkPolicy, *, verify: bool = True, resolve: Resolve = resolve_host) -> None:
        self._backend = _PinnedBackend(policy, resolve)
        self._verify = verify
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}

    async def send(self, request: Request) -> Reply:
        """Make a call, whatever status it gets. Raises `StepError`; `SecurityError` where policy refuses."""
        url = _parse_url(request.url, request.params)
        try:
            async with asyncio.timeout(request.timeout):
                return await self._follow(request, url)
        except TimeoutError as error:
            raise StepTimeout(
                f"`{request.method} {_place(url)}` took longer than {request.timeout:g} s",
                details={"url": _place(url), "timeout": request.timeout},
            ) from error

    async def _follow(self, request: Request, url: httpx2.URL) -> Reply:
        method, content = request.method, request.content
        headers = {
            "user-agent": f"pflow/{__version__}",
            "accept": "*/*",
            "accept-encoding": "gzip, deflate",
            **request.headers,
        }
        for _ in range(MAX_REDIRECTS + 1):
            reply, location = await self._exchange(method, url, headers, content, request.max_bytes)
            if location is None:
                return reply
            target = _redirect_target(url, location)
            if method != "HEAD" and (reply.status == 303 or (reply.status in (301, 302) and method == "POST")):
                method, content = "GET", None
                headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
            if not _same_origin(url, target):
                if content:
                    raise SecurityError(
                        f"`{_origin(url)}` redirects to `{_origin(target)}`, which may not see the body",
                        suggestions=["If that is where the call belongs, use that address as `url`"],
                    )
                headers = {name: value for name, value in headers.items() if name in _HARMLESS}
            url = target
        raise StepError(
            f"`{request.method} {_place(url)}` was redirected more than {MAX_REDIRECTS} times",
            suggestions=["Use the address that the redirects lead to"],
        )

    async def _exchange(
        self, method: str, url: httpx2.URL, headers: dict[str, str], content: bytes | None, max_bytes: int
    ) -> tuple[Reply, str | None]:
        encoded = [(name.encode("ascii"), value.encode()) for name, value in headers.items()]
        request = httpx2.Request(method, url, headers=encoded, content=content)
        target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        try:
            answer = await self._pool(url.scheme).handle_async_request(
                httpcore2.Request(method, target, headers=request.headers.raw, content=content or b"")
            )
            succeeded = 200 <= answer.status < 300
            try:
                body, cut = await _read(answer, max_bytes if succeeded else min(max_bytes, _ERROR_BODY))
            finally:
                await answer.aclose()
        except _FAILURES as error:
            raise _network_error(method, _place(url), error) from error
        if cut and succeeded:
            raise StepError(
                f"`{method} {_place(url)}` sends more than {max_bytes} bytes",
                details={"url": _place(url), "max_bytes": max_bytes},
                suggestions=["Raise `max_bytes`, or ask the server for less"],
            )
        shown: dict[str, str] = {}
        for name, value in httpx2.Headers(answer.headers).multi_items():
            shown[name] = f"{shown[name]}, {value}" if name in shown else value
        reply = Reply(status=answer.status, headers=shown, url=str(url), place=_place(url), content=body, cut=cut)
        return reply, _location(answer)

    def _pool(self, scheme: str) -> httpcore2.AsyncConnectionPool:
        pool = self._pools.get(scheme)
        if pool is None:
            # reading the certificate authorities costs more than a call, so plain http goes without
            context = httpx2.create_ssl_context(verify=self._verify) if scheme == "https" else None
            pool = self._pools[scheme] = httpcore2.AsyncConnectionPool(
                ssl_context=context,
                max_connections=100,
                max_keepalive_connections=20,
                keepalive_expiry=15.0,
                network_backend=self._backend,
            )
        return pool

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.aclose()


class _SharedClients:
    """One client per event loop, policy and verification.

    An async generator that stays suspended until the loop shuts its generators down closes them: whoever
    runs the loop need not know that there are clients.
    """

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Keeper] = WeakKeyDictionary()

    async def get(self, policy: NetworkPolicy, verify: bool) -> HttpClient:
        loop = asyncio.get_running_loop()
        keeper = self._loops.get(loop)
        if keeper is None:
            keeper = self._loops[loop] = _Keeper()
            keeper.life = self._live(loop, keeper)
            await anext(keeper.life)
        key = (policy, verify)
        client = keeper.clients.get(key)
        if client is None:
            client = keeper.clients[key] = HttpClient(policy, verify=verify)
        return client

    async def _live(self, loop: asyncio.AbstractEventLoop, keeper: _Keeper) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._loops.pop(loop, None)
            for client in keeper.clients.values():
                await client.aclose()


class _Keeper:
    def __init__(self) -> None:
        self.clients: dict[tuple[NetworkPolicy, bool], HttpClient] = {}
        self.life: AsyncGenerator[None] | None = None


_shared = _SharedClients()


async def shared_client(policy: NetworkPolicy, *, verify: bool = True) -> HttpClient:
    """The client of this event loop for a policy; it closes with the loop.

    Connections are never shared across policies, so that what one call may reach opens no door for another.
    """
    return await _shared.get(policy, verify)


class _PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were checked, and looks a name up only once to do so."""

    def __init__(self, policy: NetworkPolicy, resolve: Resolve) -> None:
        self._policy = policy
        self._resolve = resolve
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await checked_addresses(self._policy, host, port, self._resolve)
        connect = partial(
            self._sockets.connect_tcp,
            port=port,
            timeout=timeout,
            local_address=local_address,
            socket_options=socket_options,
        )
        if len(addresses) == 1:
            return await connect(addresses[0])
        race = await staggered_race([partial(connect, host=one) for one in addresses], delay=0.25)
        stream: httpcore2.AsyncNetworkStream | None = race[0]
        if stream is None:
            raise next(error for error in race[2] if error is not None)
        return stream

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Body(httpx2.AsyncByteStream):
    def __init__(self, parts: AsyncGenerator[bytes]) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with aclosing(self._parts) as parts:
            async for part in parts:
                yield part


async def _read(answer: httpcore2.Response, limit: int) -> tuple[bytes, bool]:
    """The decoded body up to `limit` bytes, and whether there was more."""
    response = httpx2.Response(answer.status, headers=answer.headers, stream=_Body(answer.aiter_stream()))
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as chunks:
        async for chunk in chunks:
            body += chunk
            if len(body) > limit:
                return bytes(body[:limit]), True
    return bytes(body), False


def _location(answer: httpcore2.Response) -> str | None:
    if answer.status not in _REDIRECTS:
        return None
    for name, value in answer.headers:
        if name.lower() == b"location" and value:
            return value.decode("utf-8", errors="replace")
    return None


def _parse_url(text: str, params: Sequence[tuple[str, str]]) -> httpx2.URL:
    try:
        url = httpx2.URL(text).copy_with(fragment=None)
        if params:
            added = urlencode(params, quote_via=quote).encode()
            url = url.copy_with(query=b"&".join(filter(None, (url.query, added))))
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise StepError(
            f"{_shown(text)} is not a URL", suggestions=["Write the address like https://host/path"]
        ) from error
    _check_url(url, text)
    return url


def _shown(text: str) -> str:
    """As much of an address that cannot be read as is safe to repeat."""
    head = text.partition("?")[0]
    return "the address" if "@" in head else f"`{ascii(head[:200])[1:-1]}`"


def _check_url(url: httpx2.URL, text: str) -> None:
    if url.scheme not in ("http", "https"):
        raise SecurityError(
            f"{_shown(text)} does not start with https:// or http://",
            suggestions=["Write the address like https://host/path; steps call nothing else"],
        )
    if url.userinfo or "\\" in text.partition("?")[0]:
        raise SecurityError(
            f"the address of `{url.host[:200]}` holds a user name, a password or a backslash before its path",
            suggestions=["Put credentials into `auth`"],
        )
    host = url.raw_host.decode("ascii")
    # a colon appears only in an IPv6 literal; a zone id would pick a network card
    if not (is_host_name(host) or (":" in host and "%" not in host)):
        raise StepError(f"{host[:200]!a} is not a host", suggestions=["Write the address like https://host/path"])
    if url.port is not None and not 0 < url.port < 65536:
        raise StepError(f"{url.port} is not a port", suggestions=["Ports go from 1 to 65535"])


def _redirect_target(url: httpx2.URL, location: str) -> httpx2.URL:
    try:
        target = url.join(location).copy_with(fragment=None)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise StepError(f"`{_origin(url)}` redirects to something that is not a URL") from error
    _check_url(target, location)
    if url.scheme == "https" and target.scheme == "http":
        raise SecurityError(
            f"`{_origin(url)}` redirects to `{_origin(target)}`, which is not encrypted",
            suggestions=["Ask the owner of the server to redirect to https, or call that address itself"],
        )
    return target


def _port(url: httpx2.URL) -> int:
    return url.port or (443 if url.scheme == "https" else 80)


def _same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    if one.raw_host != other.raw_host:
        return False
    if (one.scheme, _port(one)) == (other.scheme, _port(other)):
        return True
    return (one.scheme, _port(one), other.scheme, _port(other)) == ("http", 80, "https", 443)


def _origin(url: httpx2.URL) -> str:
    return str(url.copy_with(raw_path=b"/", fragment=None)).removesuffix("/")


def _place(url: httpx2.URL) -> str:
    """An address as errors show it: queries carry keys."""
    path = url.raw_path.partition(b"?")[0].decode("ascii")
    return _origin(url) + (path if len(path) <= 200 else path[:200] + "…")


def _network_error(method: str, place: str, error: Exception) -> StepError:
    cause = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    details = {"url": place}
    if isinstance(cause, ssl.SSLCertVerificationError):
        return StepError(
            f"the certificate of `{place}` cannot be trusted: {cause.verify_message}",
            details=details,
            suggestions=[
                "If a private authority signed it, name its file in the environment variable SSL_CERT_FILE",
                "To go without verification for this one node, set `insecure` to true",
            ],
        )
    if isinstance(cause, ssl.SSLError):
        return StepError(f"`{place}` does not speak TLS as it should: {cause.reason or 'no reason'}", details=details)
    if isinstance(error, httpx2.DecodingError):
        return StepError(f"`{method} {place}` answered with a body that does not decode", details=details)
    if isinstance(error, httpcore2.ConnectError):
        # the attempts at several addresses arrive as one error that keeps the system's own as its cause
        system = cause.__cause__ if isinstance(cause.__cause__, OSError) else cause
        reason = system.strerror if isinstance(system, OSError) and system.strerror else "no connection"
        if isinstance(system, ConnectionRefusedError):
            reason = "nothing listens there"
        return StepError(
            f"`{place}` cannot be reached: {reason}",
            details=details,
            suggestions=["Check the host and the port, and that the server runs"],
        )
    if isinstance(error, httpcore2.TimeoutException):
        return StepTimeout(f"`{place}` did not answer in time", details=details)
    reason = str(cause)[:200] or type(cause).__name__
    return StepError(f"the exchange with `{place}` broke off: {reason}", details=details)
