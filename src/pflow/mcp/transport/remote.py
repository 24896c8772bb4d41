"""An MCP server behind an address: the same session over HTTP. Who runs it is not ours to know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.core.errors import PflowError, ServerGone
from pflow.mcp.protocol.elicitation import Answer
from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.json_line import LINE_LIMIT
from pflow.mcp.protocol.rpc import IDLE
from pflow.mcp.protocol.session import Conduct, Session, Warn
from pflow.mcp.server.address import check_address
from pflow.mcp.transport.http_wire import HttpWire
from pflow.mcp.transport.sse_wire import SseWire

if TYPE_CHECKING:
    from pflow.http.authorization import Signer

PROBE = 10.0
"""Seconds to wait for an answer to the probe: unlike a process, a site answers everything, after a login if need be."""

LEAVE = 0.5
"""Seconds that a server gets to hear that a session is over."""


async def connect_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    transport: str = "stream-http",
    era: Era | None = None,
    timeout: float = IDLE,
    probe: float = PROBE,
    insecure: bool = False,
    pin_file: str = "",
    auth: Signer | None = None,
    limit: int = LINE_LIMIT,
    roots: Sequence[str] = (),
    answer: Answer | None = None,
    warn: Warn | None = None,
) -> Session:
    """Agree on a protocol with the server at `url`, within `timeout` seconds.

    `transport` is `stream-http`, or `sse` for the servers of 2024-11-05, which know the handshake alone. `pin_file`
    holds the only certificates to trust; with `insecure` any is, and plain HTTP leaves this machine. `auth` signs
    requests. Raises `ServerError` and what is below it, `StepTimeout`, and `SecurityError` or `UsageError`
    for an address, header or pin file that cannot be used.
    """
    from pflow.mcp.transport.http_channel import Channel  # lazy: httpx2 costs 100 ms

    check_address(url, insecure=insecure)
    conduct = Conduct(roots, warn)
    channel = Channel(url, headers or {}, insecure=insecure, pin_file=pin_file, auth=auth, warn=warn)
    wire = (SseWire if transport == "sse" else HttpWire)(channel, conduct, limit=limit)
    link = HttpLink(wire, channel.place, conduct, channel.close)
    session = Session(link, conduct, answer)
    until = asyncio.get_running_loop().time() + timeout
    try:
        if isinstance(wire, SseWire):
            await wire.listen(timeout)
            era, timeout = "legacy", max(until - asyncio.get_running_loop().time(), 0.0)
        await session.open(era=era, timeout=timeout, probe=probe)
    except BaseException:
        await link.close(patience=0)
        raise
    return session


class HttpLink:
    """Connections to a server, and nothing behind them that we could end."""

    pid = None

    def __init__(self, wire: HttpWire, place: str, conduct: Conduct, release: Callable[[], Awaitable[None]]) -> None:
        conduct.link = self
        self.wire = wire
        self._place = place
        self._release = release
        self._leaving: asyncio.Task[None] | None = None
        self._closed: asyncio.Task[None] | None = None

    def describe(self) -> dict[str, object]:
        """Where it is."""
        return {"url": self._place}

    def ended(self, error: ServerGone | None) -> None:
        """The server ended the session, or broke the rules and is left alone from now on."""
        self.wire.fail(error or ServerGone("the MCP server closed the connection", details=self.describe()))

    async def close(self, *, patience: float | None = None) -> None:
        """Say that the session is over, and close every connection, even if this is cancelled."""
        if self._closed is None:
            self.wire.fail(ServerGone("the connection to the MCP server was closed"))
            self._leaving = asyncio.create_task(self._leave(LEAVE if patience is None else patience))
            self._closed = asyncio.create_task(self._close(self._leaving))
        try:
            await asyncio.shield(self._closed)
        except asyncio.CancelledError:
            if self._leaving is not None:
                self._leaving.cancel()
            await asyncio.wait((self._closed,))
            raise

    async def _leave(self, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                await self.wire.leave()
        except (TimeoutError, PflowError):
            pass  # the server forgets us by itself

    async def _close(self, leaving: asyncio.Task[None]) -> None:
        await asyncio.wait((leaving,))
        await self.wire.close()
        await self._release()
