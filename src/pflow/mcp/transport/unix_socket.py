"""An MCP server that listens on a Unix socket: the same session over a connection. pflow does not know who runs it."""

from __future__ import annotations

import asyncio
import socket
from typing import Unpack

from pflow.core.errors import ServerError, StepTimeout
from pflow.mcp.protocol.handshake import PROBE, Era
from pflow.mcp.protocol.rpc import IDLE
from pflow.mcp.protocol.session import Conduct, Link, Session
from pflow.mcp.transport.pipe_wire import Wire


async def connect_socket(
    path: str, *, era: Era | None = None, timeout: float = IDLE, **conduct: Unpack[Conduct]
) -> Session:
    """Connect to the socket at `path` and agree with the server on a protocol, within `timeout` seconds each."""
    link = SocketLink(await _connect(path, timeout), **conduct)
    return await Session(link).open(era=era, timeout=timeout, probe=PROBE)


class SocketLink(Link):
    """A connection, and nothing behind it that we could end."""

    wire: Wire

    def __init__(self, fd: int, **conduct: Unpack[Conduct]) -> None:
        super().__init__(**conduct)
        self.wire = Wire(fd, fd, self)

    async def _release(self) -> None:
        self.wire.close()


async def _connect(path: str, timeout: float) -> int:
    if not hasattr(socket, "AF_UNIX"):
        raise ServerError("this system has no Unix sockets")
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.setblocking(False)
        async with asyncio.timeout(timeout):
            await asyncio.get_running_loop().sock_connect(sock, path)
        return sock.detach()
    except TimeoutError as error:
        raise StepTimeout(f"`{path}` took no connection for {timeout:g} s") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ServerError(
            f"no MCP server can be reached at `{path}`", details={"cause": why}, suggestions=["is the server running?"]
        ) from error
    finally:
        sock.close()
