"""An MCP server that listens on a Unix socket: the same session over a connection. pflow does not know who runs it."""

from __future__ import annotations

import asyncio
import socket

from pflow.core.errors import ServerError, ServerGone, StepTimeout
from pflow.mcp.protocol.elicitation import Answer
from pflow.mcp.protocol.handshake import PROBE, Era
from pflow.mcp.protocol.rpc import IDLE
from pflow.mcp.protocol.session import Conduct, Session, Warn
from pflow.mcp.transport.pipe_wire import Wire


async def connect_socket(
    path: str, *, era: Era | None = None, timeout: float = IDLE, answer: Answer | None = None, warn: Warn | None = None
) -> Session:
    """Connect to the socket at `path` and agree with the server on a protocol, within `timeout` seconds each."""
    conduct = Conduct((), warn)
    link = SocketLink(await _connect(path, timeout), conduct)
    session = Session(link, conduct, answer)
    try:
        await session.open(era=era, timeout=timeout, probe=PROBE)
    except BaseException:
        await link.close()
        raise
    return session


class SocketLink:
    """A connection, and nothing behind it that we could end."""

    def __init__(self, fd: int, conduct: Conduct) -> None:
        conduct.link = self
        self.wire = Wire(fd, fd, conduct)

    pid = None

    def describe(self) -> dict[str, object]:
        """Nothing is known of it."""
        return {}

    def ended(self, error: ServerGone | None) -> None:
        """The server went away, or broke the rules and is left alone from now on."""
        self.wire.fail(error or ServerGone("the MCP server closed the connection"))

    async def close(self, *, patience: float | None = None) -> None:
        """Close the connection."""
        self.wire.fail(ServerGone("the connection to the MCP server was closed"))
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
