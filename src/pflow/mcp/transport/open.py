"""One way to reach a server over whatever its configuration says: a process, a socket, an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from pflow.core.errors import ServerError
from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.session import Conduct, Session
from pflow.mcp.server.config import ServerConfig

if TYPE_CHECKING:
    from pflow.http.authorization import Signer


async def dial(
    server: ServerConfig,
    *,
    launch: Sequence[str] = (),
    era: Era | None = None,
    timeout: float,
    auth: Signer | None = None,
    **conduct: Unpack[Conduct],
) -> Session:
    """A session with an expanded server, within `timeout` seconds.

    `launch` is what to start in place of its command. Raises `ServerError` and what is below it, and `StepTimeout`.
    """
    match server.transport:
        case "stdio":
            from pflow.mcp.transport.stdio import connect_stdio  # lazy: each transport costs only those who use it

            return await connect_stdio(
                launch or (server.command, *server.args),
                env=server.env,
                cwd=server.cwd or None,
                era=era,
                timeout=timeout,
                **conduct,
            )
        case "uds":
            from pflow.mcp.transport.unix_socket import connect_socket  # lazy: as above

            return await connect_socket(server.socket, era=era, timeout=timeout, **conduct)
        case "sse" | "stream-http":
            from pflow.mcp.transport.remote import connect_http  # lazy: as above

            return await connect_http(
                server.url,
                headers=server.headers,
                transport=server.transport,
                era=era,
                timeout=timeout,
                insecure=server.insecure,
                pin_file=server.pin_file,
                auth=auth,
                **conduct,
            )
    raise ServerError(f"the transport `{server.transport}` of server `{server.name}` is not supported on this system")
