"""The one HTTP client: connections, redirects and bodies, all under a policy that its owner brings.

It ignores proxies from the environment and reads no netrc. `SSL_CERT_FILE` and `SSL_CERT_DIR` name further
certificate authorities. Importing it costs about 120 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import httpx2

from pflow import __version__
from pflow.core.errors import StepError
from pflow.http.address import URL, join_url, place
from pflow.http.authorization import Signer, authorize, time_limit
from pflow.http.connection import Connections, Lookup, Trust
from pflow.http.failure import FAILURES, Failure, Kind, read_failure

MAX_REDIRECTS = 5
AGENT = {"user-agent": f"pflow/{__version__}", "accept-encoding": "gzip, deflate"}
"""Headers of every request, unless it has its own."""

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_LARGE_CHUNK_BYTES = 1 << 17
_DISCARD_BYTES = 16 << 10
"""How much of a body is read only to use its connection again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a client may reach, how, and what it raises.

    `trust` says which certificates count for an address, `error` what to raise for a failure; `lookup`, if not every
    address is allowed, finds those of a host that are.
    """

    trust: Callable[[URL], Trust]
    error: Callable[[Failure], StepError]
    most_connections: int
    most_idle: int
    lookup: Lookup | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request to one address. With `signed`, the client's cookies and authorization go with it."""

    method: str
    url: URL
    headers: Mapping[str, str]
    content: bytes | None = None
    signed: bool = False
    patience: float | None = None


class Client:
    """Connections under one policy, reused between calls. Close it on the loop that it was used on."""

    def __init__(self, policy: Policy, signer: Signer | None = None) -> None:
        self._policy = policy
        self._signer = signer
        self._cookies = httpx2.Cookies()
        self._pools: dict[Trust | None, Connections] = {}

    async def send(self, hop: Hop, follow: Follow) -> Answer:
        """The answer at the end of all redirects, its body not yet read; the caller closes it."""
        first = hop
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self.exchange(hop)
            location = answer.location()
            if location is None:
                return answer
            await answer.discard()
            try:
                target = join_url(hop.url, location)
            except ValueError as error:
                raise self._error("location", hop) from error
            hop = follow(hop, answer, target)
        raise self._error("redirects", first)

    async def exchange(self, hop: Hop) -> Answer:
        """The answer to one request; redirects are not followed."""
        request = httpx2.Request(
            hop.method,
            hop.url,
            headers=[(name.encode("ascii"), value.encode()) for name, value in hop.headers.items()],
            content=hop.content,
            extensions=time_limit(hop.patience) if hop.patience else None,
        )
        try:
            response = await (self._send_signed(request) if hop.signed else self._send(request))
        except FAILURES as error:
            raise self._policy.error(read_failure(error, hop.method, place(hop.url))) from error
        return Answer(response, hop, self._policy)

    def connections(self, url: URL) -> Connections:
        """The connections for an address; they are never shared between different trusts."""
        trust = self._policy.trust(url) if url.scheme == "https" else None
        if trust not in self._pools:
            policy = self._policy
            self._pools[trust] = Connections(trust, policy.lookup, policy.most_connections, policy.most_idle)
        return self._pools[trust]

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.aclose()

    def _error(self, kind: Kind, hop: Hop) -> StepError:
        return self._policy.error(Failure(kind=kind, method=hop.method, place=place(hop.url)))

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        return await self.connections(request.url).send(request)

    async def _send_signed(self, request: httpx2.Request) -> httpx2.Response:
        if len(self._cookies.jar):
            self._cookies.set_cookie_header(request)
        response = await (authorize(request, self._signer, self._send) if self._signer else self._send(request))
        if "set-cookie" in response.headers:
            self._cookies.extract_cookies(response)
        return response


class Answer:
    """An answer whose body has not been read yet."""

    def __init__(self, response: httpx2.Response, hop: Hop, policy: Policy) -> None:
        self.status = response.status_code
        self.headers = response.headers
        self.kind = self.header("content-type").partition(";")[0].strip().lower()
        self.url = hop.url
        self.place = place(hop.url)
        self.method = hop.method
        self._response = response
        self._policy = policy

    @property
    def succeeded(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    def header(self, name: str) -> str:
        """A header, or an empty string."""
        value: str = self.headers.get(name, "")
        return value

    def location(self) -> str | None:
        """Where it redirects to, None if it does not."""
        found = self.headers.get_list("location") if self.status in _REDIRECTS else []
        return found[0] or None if found else None

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The body, piece by piece, decompressed."""
        try:
            async with aclosing(self._response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    yield chunk
                    if len(chunk) > _LARGE_CHUNK_BYTES:
                        await asyncio.sleep(0)  # a highly compressed body comes without any pause for other tasks
        except FAILURES as error:
            raise self._policy.error(read_failure(error, self.method, self.place)) from error

    async def read(self, limit: int) -> tuple[bytes, bool]:
        """The body up to `limit` bytes, and whether there was more."""
        body = bytearray()
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > limit:
                    return bytes(body[:limit]), True
        return bytes(body), False

    async def discard(self) -> None:
        """Read a short body to its end, so that the connection can be used again."""
        try:
            await self.read(_DISCARD_BYTES)
        except StepError:
            pass
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Release the answer without waiting for the rest of it."""
        await self._response.aclose()


Follow = Callable[[Hop, Answer, URL], Hop]
"""Makes the next request after a redirect. Raises if the redirect must not be followed."""
