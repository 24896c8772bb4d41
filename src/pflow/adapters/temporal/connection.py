"""A connection to Temporal for code that is not asynchronous: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from pflow.core.errors import StorageError
from pflow.core.frozen import Frozen
from pflow.core.setting.place import EngineAddress

T = TypeVar("T")

_CONNECTING_SECONDS = 10.0
_CALL_SECONDS = 30.0

_OWN_WORDS = re.compile(r'message: "([^"]+)"')
"""What the system said, in the middle of what the client says about it."""

_REFUSALS = (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.PERMISSION_DENIED)
"""Answers that do not mean that the service is away."""


class Queue(Frozen):
    """A queue of runs at a Temporal service. A worker that does not beat for `lease_seconds` has lost its run."""

    address: EngineAddress
    name: str
    lease_seconds: float
    api_key: str = ""


async def connect(queue: Queue) -> Client:
    """A client of the service. Raises `StorageError` if it cannot be reached."""
    address = queue.address
    try:
        return await asyncio.wait_for(
            Client.connect(
                f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}",
                namespace=address.namespace,
                api_key=queue.api_key or None,
                tls=_tls(address),
            ),
            _CONNECTING_SECONDS,
        )
    except (RuntimeError, RPCError, TimeoutError) as error:
        raise unreachable(queue, error) from error


def _tls(address: EngineAddress) -> TLSConfig | bool:
    tls = address.tls
    if tls.mode == "off":
        return False
    return TLSConfig(server_root_ca_cert=_read(tls.ca), client_cert=_read(tls.cert), client_private_key=_read(tls.key))


def _read(path: str) -> bytes | None:
    if not path:
        return None
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise StorageError(f"`{path}` cannot be read: {error.strerror}") from error


def unreachable(queue: Queue, error: Exception) -> StorageError:
    """The error for a service that does not answer."""
    told = _OWN_WORDS.search(str(error))
    lines = [told[1]] if told else str(error).strip().splitlines()
    if isinstance(error, RPCError) and error.status in _REFUSALS:
        return StorageError(f"Temporal at `{queue.address}` refuses that: {lines[0] if lines else error.status.name}")
    return StorageError(
        f"Temporal at `{queue.address}` cannot be reached: {lines[0] if lines else type(error).__name__}",
        suggestions=["check that it runs there, and the settings of the place"],
    )


class Connection:
    """Calls Temporal from threads. It connects when it is first used."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None

    async def client(self) -> Client:
        """The client; to be awaited in what is given to `call`."""
        if self._client is None:
            self._client = await connect(self.queue)
        return self._client

    def call(self, work: Coroutine[object, object, T]) -> T:
        """What the work gives. Raises `StorageError` if the service does not answer."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, _CALL_SECONDS), self._running())
        try:
            return future.result()
        except (RPCError, TimeoutError) as error:
            raise unreachable(self.queue, error) from error

    def close(self) -> None:
        """End the thread."""
        with self._starting:
            loop, self._loop, self._client = self._loop, None, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=(self._loop,), name="pflow-temporal", daemon=True).start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
