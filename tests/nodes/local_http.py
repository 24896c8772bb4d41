"""A scripted HTTP server on 127.0.0.1 and a way to run one node as a step, for the tests of this folder."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pflow.core.event import Event
from pflow.engine.context import StepContext, enter_step
from pflow.engine.ports import Services

LOCAL = {"http.allow_hosts": "127.0.0.1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as the server saw it. `headers` have lower-case names; `lines` are the raw header lines."""

    method: str
    target: str
    headers: Mapping[str, str]
    lines: tuple[str, ...]
    body: bytes
    connection: int

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


Handler = Callable[[Received], bytes | Awaitable[bytes]]


def answer(
    status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None, *, length: bool = True
) -> bytes:
    """A response as it goes over the wire."""
    lines = [f"HTTP/1.1 {status} Any", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def json_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> bytes:
    """A JSON response."""
    return answer(status, text.encode(), {"Content-Type": "application/json", **(headers or {})})


class LocalServer:
    """Serves what `handler` returns, one raw response per request, and remembers the requests."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None = None) -> None:
        self._handler = handler
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections = 0
        self.requests: list[Received] = []
        self.port = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    async def __aenter__(self) -> LocalServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        number = self._connections
        try:
            while received := await self._receive(reader, number):
                self.requests.append(received)
                raw = self._handler(received)
                writer.write(raw if isinstance(raw, bytes) else await raw)
                await writer.drain()
                if b"connection: close" in (raw if isinstance(raw, bytes) else b"").lower()[:1000]:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            # a polite end of TLS would wait for a client that keeps its connection
            writer.transport.abort() if self._tls else writer.close()
            try:
                await writer.wait_closed()
            except (ConnectionError, ssl.SSLError, asyncio.CancelledError):
                pass

    async def _receive(self, reader: asyncio.StreamReader, number: int) -> Received | None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = first.split(" ")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(method=method, target=target, headers=headers, lines=tuple(lines), body=body, connection=number)


class Step:
    """Runs nodes as steps of one run, with settings of its own, and keeps what they report."""

    def __init__(self, home: Path, settings: Mapping[str, str] = LOCAL) -> None:
        self.services = Services(home=home, settings=settings)
        self.reports: list[str] = []

    def notify(self, run_id: str, event: Event) -> None:
        """Nothing happens to this run but its steps."""

    def report(self, run_id: str, step: str, message: str) -> None:
        self.reports.append(message)

    async def run(self, node_class: type[Any], **params: object) -> dict[str, Any]:
        """What the node wrote, its action under `action`."""

        async def step() -> dict[str, Any]:
            enter_step(StepContext("run", "node", "node", self.services, partial(self.report, "run")))
            node = node_class()
            node.set_params(params)
            shared: dict[str, Any] = {}
            action = await node._run_async(shared)
            return {**shared, "action": action}

        return await asyncio.create_task(step())
