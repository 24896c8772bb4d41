"""pflow as an MCP server over HTTP: the same server behind a gate, on a socket, until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import socket
import sys
from collections.abc import Callable, Generator, Iterable, Sequence

import uvicorn
from mcp.server.streamable_http import EventStore
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from pflow.core.errors import UsageError
from pflow.core.file.home import Home
from pflow.core.setting.settings import SERVER_TOKEN, Settings
from pflow.mcp_server.http_gate import MOST_BYTES, PATH, Gate
from pflow.mcp_server.http_session import Sessions
from pflow.mcp_server.listen_address import Address, listen, names_of
from pflow.mcp_server.tool_server import PflowServer
from pflow.process.taken_variable import take_variable
from pflow.workspace.driving.until_signal import serve_until_signal

TOKEN = SERVER_TOKEN
"""The variable or credential that holds the token; without it there is a new one each time."""

MOST_SESSIONS = 200
MOST_OF_A_PEER = 100
"""Sessions at once of all clients, and of those at one address."""

MOST_CONNECTIONS = 500
IDLE_SECONDS = 30 * 60.0
"""How long a session that nobody uses is kept."""

_LEAST_TOKEN_CHARACTERS = 22
_PARTING_SECONDS = 1


def run_http(
    home: Home,
    address: Address,
    *,
    say: Callable[[str], None],
    toolset: str = "full",
    on: str = "",
    remote: bool = False,
    hosts: Sequence[str] = (),
    idle: float = IDLE_SECONDS,
    sessions: int = MOST_SESSIONS,
    of_a_peer: int = MOST_OF_A_PEER,
) -> int:
    """Serve until a signal comes; the exit code. `say` is told where, and the token if it is a new one."""
    logging.basicConfig(level=logging.WARNING, format="pflow: %(message)s", stream=sys.stderr)
    token, is_new = find_token(home)
    bound = listen(address, remote=remote)
    address = address._replace(port=bound.getsockname()[1])
    say(f"serving on http://{address.shown()}{PATH}")
    if is_new:
        say(f"bearer token, shown once: {token}")
    if not address.is_loopback:
        say("warning: nothing here is encrypted; put a proxy that speaks TLS in front")
    server = PflowServer(home, toolset=toolset, on=on)
    server.engine.workspaces.hide(TOKEN, token)
    listener = make_listener(
        server, hosts=names_of(address, hosts), token=token, idle=idle, sessions=sessions, of_a_peer=of_a_peer
    )
    return asyncio.run(serve_http(server, listener, bound))


def make_listener(
    server: PflowServer,
    *,
    hosts: Iterable[str],
    token: str,
    idle: float = IDLE_SECONDS,
    sessions: int = MOST_SESSIONS,
    of_a_peer: int = MOST_OF_A_PEER,
    event_store: EventStore | None = None,
    retry_interval: int | None = None,
) -> Listener:
    """What answers requests: the server's application behind the gate."""
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MOST_BYTES,
        session_idle_timeout=idle,
        # Requests that open none take the place of a session for a moment.
        max_sessions=sessions + MOST_CONNECTIONS,
        event_store=event_store,
        retry_interval=retry_interval,
        # The gate has checked them.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # clients are told what they do wrong
    return Listener(
        uvicorn.Config(
            Gate(Sessions(app, most=sessions, of_a_peer=of_a_peer), hosts=hosts, token=token),
            http=Connection,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_graceful_shutdown=_PARTING_SECONDS,
        )
    )


def find_token(home: Home) -> tuple[str, bool]:
    """The token that clients must have, and whether it was made just now."""
    token = Settings.load(home).server_token()
    take_variable(TOKEN)
    if not token:
        return secrets.token_urlsafe(32), True
    if len(token) < _LEAST_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"`{TOKEN}` is too easy to guess: it must have at least {_LEAST_TOKEN_CHARACTERS} characters and no spaces",
            suggestions=["let pflow make one: unset it", "or make one: `openssl rand -hex 32`"],
        )
    return token, False


class Listener(uvicorn.Server):
    """A server that does not handle signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture no signals."""
        yield


class Connection(H11Protocol):
    """A client's connection, closed when no request begins on it for a while."""

    patience = 10.0

    _expiry: asyncio.TimerHandle | None = None
    _seen: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch it."""
        super().connection_made(transport)
        self._expiry = self.loop.call_later(self.patience, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Watch no more."""
        if self._expiry is not None:
            self._expiry.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        waits = self.cycle is None or self.cycle.response_complete
        if waits and self._seen is self.cycle:
            self.transport.close()
            return
        self._seen = self.cycle if waits else self
        self._expiry = self.loop.call_later(self.patience, self._look)


async def serve_http(server: PflowServer, listener: Listener, bound: socket.socket) -> int:
    """Answer requests until a signal comes; the exit code."""

    def stop() -> None:
        server.engine.leave(graceful=False)
        server.stop_listening()
        listener.should_exit = True

    return await serve_until_signal(server.serve(listener.serve([bound])), stop=stop)
