"""Serves the page on this machine until a signal comes; a second `pflow ui` of the same home finds the first."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
from collections.abc import Callable, Generator
from pathlib import Path
from urllib.parse import quote

import orjson
import uvicorn

from pflow.core.errors import PflowError, StorageError
from pflow.core.file.atomic import read_private, write_atomic
from pflow.core.file.home import Home
from pflow.core.frozen import Frozen
from pflow.web.app import Pages
from pflow.web.backend import Backend, Open
from pflow.web.gate import KEY, Gate

HOST = "127.0.0.1"
DEFAULT_PORT = 7357
_PARTING_SECONDS = 1
_ASK_SECONDS = 2.0
_MOST_BYTES = 4096
_MOST_CONNECTIONS = 100


class Place(Frozen):
    """Where a page is served, and what opens it."""

    port: int
    token: str

    def link(self, path: str = "/") -> str:
        """The address to open."""
        return f"http://{HOST}:{self.port}{path}?{KEY}={self.token}"


def path_of(run_id: str) -> str:
    """Where a run is, or the list of all."""
    return f"/runs/{quote(run_id, safe='')}" if run_id else "/"


def served_file(home: Home, on: str = "") -> Path:
    """Where it is noted that the page of this home, or of the place `on`, is served."""
    return home.page.with_name(f"page-{on}.json") if on else home.page


def find_served(home: Home, on: str = "") -> Place | None:
    """The page of this home, or of the place `on`, that is served already, if it answers."""
    try:
        found = orjson.loads(read_private(served_file(home, on), _MOST_BYTES))
        place = Place(port=int(found["port"]), token=str(found["token"]))
    except (PflowError, OSError, ValueError, KeyError, TypeError):
        return None
    return place if _answers(place) else None


def _answers(place: Place) -> bool:
    import http.client  # lazy: only where a page was served before

    connection = http.client.HTTPConnection(HOST, place.port, timeout=_ASK_SECONDS)
    try:
        connection.request("GET", "/api/ping", headers={"Cookie": f"pflow_{place.port}={place.token}"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def bind(port: int | None) -> socket.socket:
    """A socket that only this machine reaches: at this port, or at the usual one, or at any if that is taken."""
    try:
        return socket.create_server((HOST, DEFAULT_PORT if port is None else port))
    except OSError as error:
        if port is None:
            return socket.create_server((HOST, 0))
        raise StorageError(
            f"port `{port}` cannot be used: {os.strerror(error.errno or 0).lower()}",
            suggestions=["take any port that is free: `pflow ui --port 0`"],
        ) from None


def run_page(noted: Path, open_workspace: Open, bound: socket.socket, ready: Callable[[Place], None]) -> int:
    """Serve until a signal comes; the exit code. `ready` is told where, once requests are answered.

    It is also `noted` in a file, see `served_file`.
    """
    place = Place(port=bound.getsockname()[1], token=secrets.token_urlsafe(32))
    listener = make_listener(open_workspace, place, lambda: ready(place))
    write_atomic(noted, orjson.dumps({"port": place.port, "token": place.token}), durable=False)
    try:
        return asyncio.run(_serve(listener, bound))
    finally:
        _forget(noted, place)


def _forget(noted: Path, place: Place) -> None:
    with contextlib.suppress(PflowError, OSError, ValueError):
        if orjson.loads(read_private(noted, _MOST_BYTES)).get("token") == place.token:
            noted.unlink()


def make_listener(open_workspace: Open, place: Place, ready: Callable[[], None]) -> Listener:
    """What answers requests: the pages behind the gate."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # clients are told what they do wrong
    app = Gate(Pages(Backend(open_workspace)).app(), port=place.port, token=place.token)
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_PARTING_SECONDS,
    )
    return Listener(config, ready)


class Listener(uvicorn.Server):
    """A server that says when it is ready, and does not handle signals itself."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self._ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture no signals."""
        yield


async def _serve(listener: Listener, bound: socket.socket) -> int:
    """Answer requests until a signal comes; a second one ends the process at once."""
    code = 0

    def stop(number: int) -> None:
        nonlocal code
        if code:
            os._exit(code)
        code = 128 + number
        listener.should_exit = True

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    await listener.serve([bound])
    return code
