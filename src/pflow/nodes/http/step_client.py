"""HTTP for steps: public addresses unless settings allow more, credentials for one origin, bounded bodies.

It keeps no cookies. Importing it costs about 120 ms.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from urllib.parse import quote, urlencode

from pflow.core.errors import SecurityError, StepError, StepTimeout
from pflow.core.printable import shorten
from pflow.http.address import URL, origin, parse_url, place
from pflow.http.client import AGENT, MAX_REDIRECTS, Answer, Client, Hop, Policy
from pflow.http.connection import Trust
from pflow.http.failure import Failure, Kind
from pflow.http.per_loop import PerLoop
from pflow.nodes.http.message import Reply, Request
from pflow.nodes.http.network_policy import NetworkPolicy, Resolve, checked_addresses, is_host_name, resolve_host

_ERROR_BODY_BYTES = 64 * 1024
_HARMLESS = frozenset({"accept", "accept-language", "accept-encoding", "user-agent"})
"""Request headers that another origin may see; any other one may be a credential."""

_BROKEN = "the exchange with `{place}` broke off: {reason}"
_WORDS: dict[Kind, str] = {
    "certificate": "the certificate of `{place}` cannot be trusted: {reason}",
    "tls": "`{place}` does not speak TLS as it should: {reason}",
    "decoding": "`{method} {place}` answered with a body that does not decode",
    "refused": "`{place}` cannot be reached: nothing listens there",
    "connect": "`{place}` cannot be reached: {reason}",
    "timeout": "`{place}` did not answer in time",
    "location": "`{place}` redirects to something that is not a URL",
    "redirects": f"`{{method}} {{place}}` was redirected more than {MAX_REDIRECTS} times",
}
_ADVICE: dict[Kind, Sequence[str]] = {
    "certificate": (
        "if a private authority signed it, name its file in the environment variable SSL_CERT_FILE",
        "to skip verification for this one node, set `insecure` to true",
    ),
    "refused": ("check the host and the port, and that the server runs",),
    "connect": ("check the host and the port, and that the server runs",),
    "redirects": ("use the address that the redirects lead to",),
}


class StepClient:
    """Connections under one network policy. Close it on the loop that it was used on."""

    def __init__(self, network: NetworkPolicy, *, verify: bool = True, resolve: Resolve = resolve_host) -> None:
        trust = Trust(insecure=not verify)
        lookup = partial(checked_addresses, network, resolve=resolve)
        policy = Policy(trust=lambda url: trust, error=_error, most_connections=100, most_idle=20, lookup=lookup)
        self._client = Client(policy)
        self.aclose = self._client.aclose

    async def send(self, request: Request) -> Reply:
        """Make a call, whatever status it gets. Raises `StepError`; `SecurityError` where policy refuses."""
        url = _parse_url(request.url, request.params)
        headers = {**AGENT, "accept": "*/*", **request.headers}
        hop = Hop(method=request.method, url=url, headers=headers, content=request.content)
        try:
            async with asyncio.timeout(request.timeout):
                async with aclosing(await self._client.send(hop, _follow)) as answer:
                    return await _read(answer, request)
        except TimeoutError as error:
            raise StepTimeout(
                f"`{request.method} {place(url)}` took longer than {request.timeout:g} s",
                details={"url": place(url), "timeout": request.timeout},
            ) from error


_clients: PerLoop[StepClient] = PerLoop()


async def shared_client(network: NetworkPolicy, *, verify: bool = True) -> StepClient:
    """The client of this event loop for a policy; it closes with the loop.

    Connections are never shared between policies, so that what one call may reach does not become open to another.
    """
    return await _clients.get((network, verify), lambda: StepClient(network, verify=verify))


async def _read(answer: Answer, request: Request) -> Reply:
    limit = request.max_bytes if answer.succeeded else min(request.max_bytes, _ERROR_BODY_BYTES)
    body, cut = await answer.read(limit)
    if cut and answer.succeeded:
        raise StepError(
            f"`{answer.method} {answer.place}` sends more than {limit} bytes",
            details={"url": answer.place, "max_bytes": limit},
            suggestions=["raise `max_bytes`, or ask the server for less"],
        )
    headers = dict(answer.headers.items())
    return Reply(status=answer.status, headers=headers, url=str(answer.url), place=answer.place, content=body, cut=cut)


def _follow(hop: Hop, answer: Answer, target: URL) -> Hop:
    """A redirect never leads from https to http; another origin sees neither credentials nor bodies."""
    _check_url(target, answer.header("location"))
    if hop.url.scheme == "https" and target.scheme == "http":
        raise SecurityError(
            f"`{origin(hop.url)}` redirects to `{origin(target)}`, which is not encrypted",
            suggestions=["ask the owner of the server to redirect to https, or call that address directly"],
        )
    method, content, headers = hop.method, hop.content, hop.headers
    if method != "HEAD" and (answer.status == 303 or (answer.status in (301, 302) and method == "POST")):
        method, content = "GET", None
        headers = {name: value for name, value in headers.items() if not name.startswith("content-")}
    if not _same_origin(hop.url, target):
        if content:
            raise SecurityError(
                f"`{origin(hop.url)}` redirects to `{origin(target)}`, which may not see the body",
                suggestions=["if that is the right server, use its address as `url`"],
            )
        headers = {name: value for name, value in headers.items() if name in _HARMLESS}
    return Hop(method=method, url=target, headers=headers, content=content)


def _parse_url(text: str, params: Sequence[tuple[str, str]]) -> URL:
    try:
        url = parse_url(text)
        if params:
            added = urlencode(params, quote_via=quote).encode()
            url = url.copy_with(query=b"&".join(filter(None, (url.query, added))))
    except ValueError as error:
        raise StepError(
            f"{_shown(text)} is not a URL", suggestions=["write the address like https://host/path"]
        ) from error
    _check_url(url, text)
    return url


def _shown(text: str) -> str:
    """As much of an address that cannot be read as is safe to repeat."""
    head = text.partition("?")[0]
    return "the address" if "@" in head else f"`{shorten(head, 200)}`"


def _check_url(url: URL, text: str) -> None:
    if url.scheme not in ("http", "https"):
        raise SecurityError(
            f"{_shown(text)} does not start with https:// or http://",
            suggestions=["write the address like https://host/path; steps call nothing else"],
        )
    if url.userinfo or "\\" in text.partition("?")[0]:
        raise SecurityError(
            f"the address of `{url.host[:200]}` contains a user name, a password or a backslash before its path",
            suggestions=["put credentials into `auth`"],
        )
    host = url.raw_host.decode("ascii")
    # a colon appears only in an IPv6 literal; a zone id would pick a network card
    if not (is_host_name(host) or (":" in host and "%" not in host)):
        raise StepError(f"`{host[:200]}` is not a host", suggestions=["write the address like https://host/path"])
    if url.port is not None and not 0 < url.port < 65536:
        raise StepError(f"`{url.port}` is not a port", suggestions=["ports go from 1 to 65535"])


def _same_origin(one: URL, other: URL) -> bool:
    if one.raw_host != other.raw_host:
        return False
    places = [(url.scheme, url.port or (443 if url.scheme == "https" else 80)) for url in (one, other)]
    return places[0] == places[1] or places == [("http", 80), ("https", 443)]


def _error(failure: Failure) -> StepError:
    words = _WORDS.get(failure.kind, _BROKEN)
    message = words.format(method=failure.method, place=failure.place, reason=failure.reason)
    details = {"url": failure.place}
    if failure.kind == "timeout":
        return StepTimeout(message, details=details)
    return StepError(message, details=details, suggestions=_ADVICE.get(failure.kind, ()))
