"""HTTP requests to the address of one MCP server: its certificates, credentials, sessions, and redirects.

Nothing here has a time limit unless the caller gives one. Importing it costs about 120 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.errors import SecurityError, ServerError, ServerGone, UsageError
from pflow.core.file.file_name import show
from pflow.core.printable import shorten
from pflow.http.address import URL, join_url, origin, parse_url, place
from pflow.http.authorization import Signer
from pflow.http.client import AGENT, MAX_REDIRECTS, Answer, Client, Hop, Policy
from pflow.http.connection import Trust
from pflow.http.failure import Failure, Kind
from pflow.http.header import UNSAFE
from pflow.mcp.protocol.session import Warn

_KEEP_METHOD = frozenset((307, 308))
_SHORTEST_SECRET = 6

_BROKEN = "the exchange with the MCP server at `{place}` broke off"
_NOT_REACHED = "no MCP server can be reached at `{place}`"
_WORDS: dict[Kind, str] = {
    "certificate": "the certificate of `{place}` cannot be trusted: {reason}",
    "tls": "`{place}` does not speak TLS as it should",
    "decoding": "`{place}` answered with a body that does not decompress",
    "request": "a request that HTTP does not allow was to go to `{place}`",
    "refused": _NOT_REACHED,
    "connect": _NOT_REACHED,
    "location": "`{place}` redirects to something that is not an address",
    "redirects": f"`{{place}}` was redirected more than {MAX_REDIRECTS} times",
}
_ADVICE: dict[Kind, Sequence[str]] = {
    "certificate": ("name the certificate in the server's `pin_file`", "or use `--insecure`, for testing"),
    "refused": ("check the host and the port, and that the server runs",),
    "connect": ("check the host and the port, and that the server runs",),
    "redirects": ("use the address that the redirects lead to",),
}
_STAYS = frozenset[Kind](("certificate", "decoding", "request", "location", "redirects"))
"""Failures of a server that is there; after any other it is taken for gone."""

_SAFE_CAUSE = frozenset[Kind](("tls", "refused", "connect", "protocol"))
"""Failures whose reason may be shown; that of the others may hold headers."""


class Channel:
    """The address of a server with all that goes with each request to it. Close it on the loop that it was used on."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        insecure: bool = False,
        pin_file: str = "",
        auth: Signer | None = None,
        warn: Warn | None = None,
    ) -> None:
        try:
            self._url = parse_url(url)
        except ValueError as error:
            raise UsageError("the URL of a server has the form `https://host/path`") from error
        self._origin = origin(self._url)
        self.place = place(self._url)
        self.given = tuple(headers)
        self.logs_in = auth is not None
        self._headers = _check_headers(headers)
        self._warn = warn
        self._own_trust = Trust(insecure=insecure, pin_file=pin_file)
        policy = Policy(trust=self._trust, error=_error, most_connections=128, most_idle=32)
        self._client = Client(policy, auth)
        self._client.connections(self._url)  # a pin file that cannot be used is found before anything is sent
        self.close = self._client.aclose

    async def send(
        self,
        method: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        *,
        url: str = "",
        session: str = "",
    ) -> Answer:
        """The answer to a request, its body yet to be read; it is to be closed.

        Redirects within the server's origin are followed; one to any other origin is refused, so that neither what is
        sent nor a credential ever goes elsewhere. `session` is the id of the session that a request belongs to.
        Raises `ServerError`, `ServerGone` when there is no exchange, `SecurityError` for a redirect not to be followed.
        """
        sent = {**AGENT, **self._headers, **headers, **({"mcp-session-id": session} if session else {})}

        def make(target: URL) -> Hop:
            return Hop(method=method, url=target, headers=sent, content=content or None, signed=True)

        def follow(hop: Hop, answer: Answer, target: URL) -> Hop:
            self._check_redirect(hop, answer, target)
            return make(target)

        return await self._client.send(make(self._url.join(url) if url else self._url), follow)

    async def probe(self, method: str, headers: Mapping[str, str], content: bytes | None, patience: float) -> int:
        """The status that the server itself answers with; redirects are not followed."""
        sent = {**AGENT, **self._headers, **headers}
        hop = Hop(method=method, url=self._url, headers=sent, content=content, signed=True, patience=patience)
        answer = await self._client.exchange(hop)
        await answer.aclose()
        return answer.status

    def resolve(self, text: str) -> str:
        """The address that `text` means, seen from the server's own. Raises `SecurityError` for another origin."""
        try:
            target = join_url(self._url, text)
        except ValueError as error:
            raise ServerError("the MCP server names an endpoint that is not an address") from error
        if origin(target) != self._origin or target.userinfo:
            raise SecurityError(
                f"the MCP server at `{self._origin}` names an endpoint elsewhere: `{shorten(origin(target), 200)}`",
                suggestions=["if that is where the server is, use that address as its URL"],
            )
        return str(target)

    def show(self, body: bytes) -> str:
        """A body as an error may show it, without the values of our headers, which a server may have sent back."""
        text = body.decode(errors="replace").strip()
        for value in self._headers.values():
            for secret in (value, value.rpartition(" ")[2]):
                if len(secret) >= _SHORTEST_SECRET:
                    text = text.replace(secret, "…")
        return text

    def _trust(self, url: URL) -> Trust:
        """Pins, and the permission to go without verification, are for the server's own origin alone."""
        return self._own_trust if origin(url) == self._origin else Trust()

    def _check_redirect(self, hop: Hop, answer: Answer, target: URL) -> None:
        there = shorten(place(target), 200)
        if target.scheme not in ("http", "https") or not target.host or target.userinfo:
            raise SecurityError(f"`{answer.place}` redirects to something other than a web address")
        if origin(target) != self._origin:
            raise SecurityError(
                f"the MCP server at `{self._origin}` redirects to another origin, `{shorten(origin(target), 200)}`; "
                "nothing was sent there",
                suggestions=[f"if that is where the server is, use `{there}` as its URL"],
            )
        if hop.method == "POST" and answer.status not in _KEEP_METHOD:
            raise ServerError(
                f"`{answer.place}` redirects to `{there}` in a way that loses the request ({answer.status})",
                suggestions=[f"if that is where the server is, use `{there}` as its URL"],
            )
        if self._warn is not None:
            self._warn(f"`{answer.place}` redirects every request to `{there}`: use that as the URL of the server")
            self._warn = None  # once is enough


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    checked: dict[str, str] = {}
    for name, value in headers.items():
        value = value.strip(" \t")
        if UNSAFE.search(value):
            raise UsageError(
                f"the value of header `{show(name)}` holds a line break or another control character",
                suggestions=["look at the variable that it comes from: a token that was pasted may end with one"],
            )
        checked[name.lower()] = value
    return checked


def _error(failure: Failure) -> ServerError:
    details: dict[str, object] = {"url": failure.place}
    if failure.kind in _SAFE_CAUSE:
        details["cause"] = shorten(failure.reason, 200)
    return (ServerError if failure.kind in _STAYS else ServerGone)(
        _WORDS.get(failure.kind, _BROKEN).format(place=failure.place, reason=failure.reason),
        details=details,
        suggestions=_ADVICE.get(failure.kind, ()),
    )
