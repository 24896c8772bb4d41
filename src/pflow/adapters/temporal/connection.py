"""A connection to Temporal for code that is not asynchronous: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

from temporalio.client import Client
from temporalio.service import RPCError, TLSConfig

from pflow.core.errors import StorageError
from pflow.core.frozen import Frozen

T = TypeVar("T")

_CONNECTING_SECONDS = 10.0
_CALL_SECONDS = 30.0


class TemporalPlace(Frozen):
    """Where a Temporal service is, and what proves who we are."""

    address: str
    namespace: str = "default"
    queue: str = "pflow"
    lease_seconds: float = 15.0
    api_key: str = ""
    tls: bool = False


async def connect(place: TemporalPlace) -> Client:
    """A client of the service. Raises `StorageError` if it cannot be reached."""
    try:
        return await asyncio.wait_for(
            Client.connect(
                place.address,
                namespace=place.namespace,
                api_key=place.api_key or None,
                tls=TLSConfig() if place.tls else False,
            ),
            _CONNECTING_SECONDS,
        )
    except (RuntimeError, RPCError, TimeoutError) as error:
        raise unreachable(place, error) from error


def unreachable(place: TemporalPlace, error: Exception) -> StorageError:
    """The error for a service that does not answer."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return StorageError(
        f"Temporal at `{place.address}` (namespace `{place.namespace}`) cannot be reached: {reason}",
        suggestions=["check that it runs there, and the settings of the place"],
    )


class Connection:
    """Calls Temporal from threads. It connects when it is first used."""

    def __init__(self, place: TemporalPlace) -> None:
        self.place = place
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Client | None = None

    async def client(self) -> Client:
        """The client; to be awaited in what is given to `call`."""
        if self._client is None:
            self._client = await connect(self.place)
        return self._client

    def call(self, work: Coroutine[object, object, T]) -> T:
        """What the work gives. Raises `StorageError` if the service does not answer."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, _CALL_SECONDS), self._running())
        try:
            return future.result()
        except (RPCError, TimeoutError) as error:
            raise unreachable(self.place, error) from error

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
