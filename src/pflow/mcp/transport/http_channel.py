"""HTTP requests to the address of one MCP server: TLS, redirects, credentials, and answers read with a limit.

It ignores proxies from the environment and reads no netrc. `SSL_CERT_FILE` and `SSL_CERT_DIR` name further
certificate authorities. Nothing here has a time limit: whoever asks cancels. Importing it costs about 100 ms.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

import httpx2

from pflow import __version__
from pflow.core.errors import SecurityError, ServerError, ServerGone, StepError, UsageError
from pflow.core.file.file_name import show
from pflow.core.printable import shorten
from pflow.mcp.oauth.limit import bound_body
from pflow.mcp.protocol.session import Warn
from pflow.mcp.server.address import is_inside, is_loopback

MAX_REDIRECTS = 5
_KEEP_METHOD = frozenset((307, 308))
_REDIRECTS = _KEEP_METHOD | {301, 302, 303}
_PIECE = 1 << 17
_EXCERPT = 16 << 10
_WRONG = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_LIMITS = httpx2.Limits(max_connections=128, max_keepalive_connections=32, keepalive_expiry=15.0)
_SHORTEST_SECRET = 6


class Channel:
    """The address of a server with all that goes with each request to it. Close it on the loop that it was used on."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        insecure: bool = False,
        pin_file: str = "",
        auth: object = None,
        warn: Warn | None = None,
    ) -> None:
        self._url = _parse(url)
        self._origin = _origin(self._url)
        self.place = _place(self._url)
        self.given = tuple(headers)
        self._headers = _check_headers(headers)
        if auth is not None and not isinstance(auth, httpx2.Auth):
            raise TypeError("`auth` is no `httpx2.Auth`")
        self._auth = auth
        self.logs_in = auth is not None
        self._warn = warn
        self._warned = False
        self._cookies = httpx2.Cookies()
        self._home = httpx2.AsyncHTTPTransport(verify=tls_context(self._url.scheme, insecure, pin_file), limits=_LIMITS)
        self._abroad: httpx2.AsyncHTTPTransport | None = None

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        *,
        url: str = "",
        session: tuple[str, str] | None = None,
    ) -> Reply:
        """The answer to a request, its body yet to be read; it is to be closed.

        Redirects are followed. What leaves the server's origin carries no credentials from then on: no configured
        header, no cookie, no authorization; `session` is an origin and the id of a session that is sent to it alone.
        Raises `ServerError`, `ServerGone` when there is no exchange, `SecurityError` for a redirect not to be followed.
        """
        target = self._url.join(url) if url else self._url
        own = True
        for _ in range(MAX_REDIRECTS + 1):
            origin = _origin(target)
            own = own and origin == self._origin
            sent = {"user-agent": f"pflow/{__version__}", "accept-encoding": "gzip, deflate"}
            if own:
                sent |= self._headers
            sent |= headers
            if session is not None and session[0] == origin:
                sent["mcp-session-id"] = session[1]
            encoded = [(name.encode(), value.encode()) for name, value in sent.items()]
            request = httpx2.Request(method, target, headers=encoded, content=content or None)
            place = _place(target)
            try:
                response = await (
                    self._send_own(request) if own else self._transport(target).handle_async_request(request)
                )
            except httpx2.RequestError as error:
                raise _failure(error, place) from error
            if response.status_code not in _REDIRECTS or not response.headers.get("location"):
                return Reply(response, place, origin, self._mask)
            await Reply(response, place, origin, self._mask).discard()
            target = self._redirect(method, target, response)
        raise ServerError(
            f"`{self.place}` was redirected more than {MAX_REDIRECTS} times",
            suggestions=["use the address that the redirects lead to"],
        )

    def resolve(self, text: str) -> str:
        """The address that `text` means, seen from the server's own. Raises `SecurityError` for another origin."""
        try:
            target = self._url.join(text)
        except (httpx2.InvalidURL, ValueError) as error:
            raise ServerError("the MCP server names an endpoint that is no address") from error
        if _origin(target) != self._origin or target.userinfo:
            raise SecurityError(
                f"the MCP server at `{self._origin}` names an endpoint elsewhere: `{shorten(_origin(target), 200)}`",
                suggestions=["if that is where the server is, use that address as its URL"],
            )
        return str(target)

    async def close(self) -> None:
        """Close every connection."""
        await self._home.aclose()
        if self._abroad is not None:
            await self._abroad.aclose()

    async def _send_own(self, request: httpx2.Request) -> httpx2.Response:
        if len(self._cookies.jar):
            self._cookies.set_cookie_header(request)
        if self._auth is None:
            response = await self._home.handle_async_request(request)
        else:
            response = await self._authorise(request, self._auth)
        response.request = request
        if "set-cookie" in response.headers:
            self._cookies.extract_cookies(response)
        return response

    async def _authorise(self, request: httpx2.Request, auth: httpx2.Auth) -> httpx2.Response:
        """Send what the authorization makes of a request; it may talk to other places in between."""
        async with aclosing(auth.async_auth_flow(request)) as flow:
            request = await anext(flow)
            while True:
                response = await self._transport(request.url).handle_async_request(request)
                response.request = request
                try:
                    request = await flow.asend(response)
                except StopAsyncIteration:
                    return response
                except BaseException:
                    await response.aclose()
                    raise
                await _keep(response)

    def _transport(self, url: httpx2.URL) -> httpx2.AsyncHTTPTransport:
        """Pins, and the permission to go without verification, are for the server's own origin alone."""
        if _origin(url) == self._origin:
            return self._home
        if self._abroad is None:
            self._abroad = httpx2.AsyncHTTPTransport(verify=True, limits=_LIMITS)
        return self._abroad

    def _redirect(self, method: str, url: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
        place = _place(url)
        try:
            target = url.join(response.headers["location"]).copy_with(fragment=None)
        except (httpx2.InvalidURL, ValueError) as error:
            raise ServerError(f"`{place}` redirects to something that is no address") from error
        there = shorten(_place(target), 200)
        if target.scheme not in ("http", "https") or not target.host or target.userinfo:
            raise SecurityError(f"`{place}` redirects to something else than a web address")
        if method == "POST" and response.status_code not in _KEEP_METHOD:
            raise ServerError(
                f"`{place}` redirects to `{there}` in a way that loses the request ({response.status_code})",
                suggestions=[f"if that is where the server is, use `{there}` as its URL"],
            )
        if _origin(target) != _origin(url):
            _check_move(url, target)
        if not self._warned and self._warn is not None:
            self._warned = True
            self._warn(f"`{place}` redirects every request to `{there}`: use that as the URL of the server")
        return target

    def _mask(self, text: str) -> str:
        """`text` without the values of our headers, which a server may have sent back."""
        for value in self._headers.values():
            for secret in (value, value.rpartition(" ")[2]):
                if len(secret) >= _SHORTEST_SECRET:
                    text = text.replace(secret, "…")
        return text


class Reply:
    """An answer whose body is still to come."""

    def __init__(self, response: httpx2.Response, place: str, origin: str, mask: Callable[[str], str]) -> None:
        self.status = response.status_code
        self.kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.place = place
        self.origin = origin
        self._response = response
        self._mask = mask

    def header(self, name: str) -> str:
        """A header, or nothing."""
        value: str = self._response.headers.get(name, "")
        return value

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body, piece by piece, decompressed."""
        try:
            async with aclosing(self._response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    yield chunk
                    if len(chunk) > _PIECE:
                        await asyncio.sleep(0)  # what was compressed well comes without waiting in between
        except httpx2.RequestError as error:
            raise _failure(error, self.place) from error

    async def read(self, limit: int) -> bytes:
        """All of the body. Raises `ServerError` when it is longer than `limit`."""
        body, cut = await self._read(limit)
        if cut:
            raise ServerError(
                f"the MCP server sent an answer of more than {limit:,} bytes", details={"url": self.place}
            )
        return body

    async def begin(self) -> bytes:
        """The beginning of the body."""
        return (await self._read(_EXCERPT))[0]

    def show(self, body: bytes) -> str:
        """A body as an error may show it, without our credentials."""
        return self._mask(body.decode(errors="replace").strip())

    async def discard(self) -> None:
        """Read a short body to its end, so that the connection can be used again."""
        try:
            await self._read(_EXCERPT)
        except ServerError:
            pass
        finally:
            await self.close()

    async def close(self) -> None:
        """Let go of the answer; what it would still say is not waited for."""
        await self._response.aclose()

    async def _read(self, limit: int) -> tuple[bytes, bool]:
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    return bytes(body[:limit]), True
        return bytes(body), False


async def _keep(response: httpx2.Response) -> None:
    """Read an answer that the authorization goes on from: it may look into it later."""
    try:
        await bound_body(response).aread()
    except (StepError, httpx2.RequestError, httpx2.StreamError):
        pass
    finally:
        await response.aclose()


def _parse(url: str) -> httpx2.URL:
    try:
        return httpx2.URL(url).copy_with(fragment=None)
    except (httpx2.InvalidURL, ValueError) as error:
        raise UsageError("the URL of a server has the form `https://host/path`") from error


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    checked: dict[str, str] = {}
    for name, value in headers.items():
        value = value.strip(" \t")
        if _WRONG.search(value):
            raise UsageError(
                f"the value of header `{show(name)}` holds a line break or another control character",
                suggestions=["look at the variable that it comes from: a token that was pasted may end with one"],
            )
        checked[name.lower()] = value
    return checked


def tls_context(scheme: str, insecure: bool, pin_file: str) -> ssl.SSLContext:
    if not pin_file or scheme != "https":
        # reading the certificate authorities costs more than a call, so plain http goes without
        return httpx2.create_ssl_context(verify=scheme == "https" and not insecure)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = not insecure
    # A pinned certificate is trusted by itself, whoever signed it; without this only a self-signed one would be.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cafile=pin_file)
    except ssl.SSLError as error:
        raise UsageError(f"the pin file `{show(pin_file)}` holds no certificate in PEM form") from error
    except OSError as error:
        raise UsageError(
            f"the pin file `{show(pin_file)}` cannot be read: {error.strerror or 'no reason given'}"
        ) from error
    return context


def _check_move(url: httpx2.URL, target: httpx2.URL) -> None:
    """A server on the network may send us elsewhere on the network, encrypted; never to this machine or its own net."""
    if is_loopback(url.host):
        if target.scheme == "https" or is_loopback(target.host):
            return
    elif target.scheme == "https" and not is_inside(target.host):
        return
    raise SecurityError(
        f"`{_origin(url)}` redirects to `{shorten(_origin(target), 200)}`, which is not encrypted or not public",
        suggestions=["if that is where the server is, use that address as its URL"],
    )


def _origin(url: httpx2.URL) -> str:
    host = f"[{url.host}]" if ":" in url.host else url.host
    port = f":{url.port}" if url.port is not None else ""
    return f"{url.scheme}://{host}{port}"


def _place(url: httpx2.URL) -> str:
    """An address as errors show it: queries carry keys."""
    path = url.raw_path.partition(b"?")[0].decode("ascii", errors="replace")
    return _origin(url) + (path if len(path) <= 200 else path[:200] + "…")


def _failure(error: httpx2.RequestError, place: str) -> ServerError:
    """What went wrong below HTTP. The library's own words may hold headers, so few of them are used."""
    details: dict[str, object] = {"url": place}
    causes = _causes(error)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServerError(
                f"the certificate of `{place}` cannot be trusted: {cause.verify_message}",
                details=details,
                suggestions=["name the certificate in the server's `pin_file`", "or use `--insecure`, for testing"],
            )
        if isinstance(cause, ssl.SSLError):
            details["cause"] = str(cause.reason or "no reason given")
            return ServerGone(f"`{place}` does not speak TLS as it should", details=details)
    if isinstance(error, httpx2.DecodingError):
        return ServerError(f"`{place}` answered with a body that does not decompress", details=details)
    if isinstance(error, httpx2.LocalProtocolError):
        return ServerError(f"a request that HTTP does not allow was to go to `{place}`", details=details)
    if isinstance(error, httpx2.ConnectError):
        system = next((cause for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
        details["cause"] = system.strerror if system is not None else "no connection"
        return ServerGone(
            f"no MCP server can be reached at `{place}`",
            details=details,
            suggestions=["check the host and the port, and that the server runs"],
        )
    if isinstance(error, httpx2.RemoteProtocolError):
        details["cause"] = shorten(str(error), 200)
    return ServerGone(f"the exchange with the MCP server at `{place}` broke off", details=details)


def _causes(error: BaseException) -> list[BaseException]:
    """An error and what it came from, groups of attempts included."""
    found: list[BaseException] = []
    waiting: list[BaseException] = [error]
    while waiting and len(found) < 20:
        one = waiting.pop(0)
        found.append(one)
        waiting += [cause for cause in (one.__cause__, one.__context__) if cause is not None and cause not in found]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return found
