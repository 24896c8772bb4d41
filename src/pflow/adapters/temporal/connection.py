"""A connection to Temporal for code that is not asynchronous: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from pflow.adapters.temporal.runtime import own_runtime
from pflow.core.advice import Advice
from pflow.core.errors import StorageError
from pflow.core.event import Cause
from pflow.core.frozen import Frozen
from pflow.core.setting.place import EngineAddress

T = TypeVar("T")

_CONNECTING_SECONDS = 10.0
_CALL_SECONDS = 30.0

THREAD = "pflow-temporal"
"""The name of the thread of a connection."""

_OWN_WORDS = re.compile(r'(?:message|error): "([^"]+)"')
"""What the system said, in the middle of what the client says about it."""

_CERTIFICATE = re.compile(r"InvalidCertificate\((\w+)")

_PLAIN_WORDS = {
    "InvalidContentType": "it offers no TLS",
    "operation was canceled": "the connection was cut",
}
"""What the client says in words of its own, and what that means."""

_REFUSALS = (
    RPCStatusCode.INVALID_ARGUMENT,
    RPCStatusCode.FAILED_PRECONDITION,
    RPCStatusCode.PERMISSION_DENIED,
    RPCStatusCode.UNAUTHENTICATED,
    RPCStatusCode.NOT_FOUND,
)
"""Answers that do not mean that the service is away."""


class Queue(Frozen):
    """A queue of runs at a place. A worker that does not beat for `lease_seconds` has lost its run."""

    place: str
    address: EngineAddress
    name: str
    lease_seconds: float
    api_key: str = ""

    def of(self, cause: Cause) -> Queue:
        """The queue that a run was begun in; this one, if nobody has said."""
        return self._replace(name=cause.queue) if cause.queue else self


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
                runtime=own_runtime(),
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


async def check_namespace(client: Client, queue: Queue) -> None:
    """Raise `StorageError` for a namespace that the service does not have: workers of it would fail later on."""
    try:
        await client.workflow_service.describe_namespace(
            DescribeNamespaceRequest(namespace=queue.address.namespace), timeout=timedelta(seconds=_CONNECTING_SECONDS)
        )
    except RPCError as error:
        raise unreachable(queue, error) from error


def unreachable(queue: Queue, error: Exception) -> StorageError:
    """The error for a service that does not answer, or refuses what it is asked for."""
    key = f"on.{queue.place}.temporal"
    if isinstance(error, RPCError) and error.status in _REFUSALS:
        what, advice = "refuses that", Advice("see that `{get_setting}` is right", name=key)
    else:
        what, advice = "cannot be reached", Advice("see that it runs and that `{get_setting}` is right", name=key)
    return StorageError(
        f"Temporal at `{queue.address}` {what}: {_words(error)}",
        details={"place": queue.place, "address": str(queue.address)},
        suggestions=[advice],
    )


def _words(error: Exception) -> str:
    """What went wrong, as a person would say it."""
    if isinstance(error, TimeoutError):
        return "it does not answer"
    text = str(error).strip()
    if found := _CERTIFICATE.search(text):
        return f"its certificate is not valid: {found[1]}"
    for words, meaning in _PLAIN_WORDS.items():
        if words in text:
            return meaning
    if found := _OWN_WORDS.search(text):
        return found[1]
    if text == "tcp connect error":
        return "no connection can be made"
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__


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
                threading.Thread(target=self._serve, args=(self._loop,), name=THREAD, daemon=True).start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
