"""An MCP server behind an address: the same session over HTTP. pflow does not know who runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from pflow.core.errors import PflowError
from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.json_line import LINE_LIMIT
from pflow.mcp.protocol.rpc import IDLE
from pflow.mcp.protocol.session import Conduct, Link, Session
from pflow.mcp.server.address import check_address
from pflow.mcp.transport.http_wire import HttpWire
from pflow.mcp.transport.sse_wire import SseWire

if TYPE_CHECKING:
    from pflow.http.authorization import Signer
    from pflow.mcp.transport.http_channel import Channel

PROBE = 10.0
"""Seconds to wait for an answer to the probe: unlike a process, a site answers everything, after a login if need be."""


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
    **conduct: Unpack[Conduct],
) -> Session:
    """Agree on a protocol with the server at `url`, within `timeout` seconds.

    `transport` is `stream-http`, or `sse` for the servers of 2024-11-05, which know the handshake alone. `pin_file`
    holds the only certificates to trust; with `insecure` any is, and plain HTTP leaves this machine. `auth` signs
    requests. Raises `ServerError` and what is below it, `StepTimeout`, and `SecurityError` or `UsageError`
    for an address, header or pin file that cannot be used.
    """
    from pflow.mcp.transport.http_channel import Channel  # lazy: httpx2 costs 100 ms

    check_address(url, insecure=insecure)
    channel = Channel(url, headers or {}, insecure=insecure, pin_file=pin_file, auth=auth, warn=conduct.get("warn"))
    sse = transport == "sse"
    link = HttpLink(channel, SseWire if sse else HttpWire, limit, **conduct)
    return await Session(link).open(era="legacy" if sse else era, timeout=timeout, probe=probe)


class HttpLink(Link):
    """Connections to a server, and nothing behind them that we could end."""

    wire: HttpWire

    def __init__(self, channel: Channel, kind: type[HttpWire], limit: int, **conduct: Unpack[Conduct]) -> None:
        super().__init__(**conduct)
        self.wire = kind(channel, self, limit=limit)
        self._channel = channel

    def describe(self) -> dict[str, object]:
        """Where it is."""
        return {"url": self._channel.place}

    async def start(self, timeout: float) -> None:
        """Open what must stand before the first request."""
        await self.wire.listen(timeout)

    async def _leave(self, patience: float) -> None:
        """Say that the session is over."""
        with suppress(TimeoutError, PflowError):  # the server forgets us by itself
            async with asyncio.timeout(patience):
                await self.wire.leave()

    async def _release(self) -> None:
        await self.wire.close()
        await self._channel.close()
