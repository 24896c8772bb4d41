"""A `pflow serve mcp --http` process, a session with it in either era, and requests that no client would send."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.remote import connect_http

T = TypeVar("T")

DEADLINE = 60.0


BOUNDED = """
import json, sys
from pflow.core.file.home import find_home
from pflow.mcp_server.listen_address import read_address
from pflow.mcp_server.http_server import run_http
say = lambda line: print(line, file=sys.stderr, flush=True)
run_http(find_home(), read_address("0"), say=say, **json.loads(sys.argv[1]))
"""
"""The same server with smaller bounds."""


class Served:
    """A server process that listens at a free port of this machine."""

    def __init__(
        self, home: Path, *words: str, host: str = "127.0.0.1", bounds: dict[str, float] | None = None, **env: str
    ) -> None:
        self.home = home
        command = [sys.executable, "-m", "pflow", "serve", "mcp", "--http", f"{host}:0", *words]
        if bounds:
            command = [sys.executable, "-c", BOUNDED, json.dumps(bounds)]
        environment = {**os.environ, "PFLOW_HOME": str(home), **env}
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.said = ""
        self.port = int(self._hear(r"serving on http://.*:(\d+)/mcp"))
        self.token = env.get("PFLOW_MCP_TOKEN") or self._hear(r"bearer token, shown once: (\S+)")
        self._draining = threading.Thread(target=self._drain, daemon=True)
        self._draining.start()

    def _hear(self, pattern: str) -> str:
        assert self.process.stderr is not None
        while (found := re.search(pattern, self.said)) is None:
            line = self.process.stderr.readline().decode()
            assert line, self.said
            self.said += line
        return found[1]

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line.decode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def auth(self) -> str:
        return f"Authorization: Bearer {self.token}"

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(DEADLINE)
        self._draining.join(DEADLINE)
        assert self.process.stderr is not None and self.process.stdout is not None
        self.process.stderr.close()
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        return code

    def send(self, data: bytes, *, half: bool = False) -> tuple[int, dict[str, str], bytes]:
        """Send raw bytes on a connection of their own: status, headers and body of the answer; 0 if there is none."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE) as connection:
            try:
                connection.sendall(data)
                if half:
                    connection.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it answered before it had read all of it
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
        if not answer:
            return 0, {}, b""
        head, _, body = answer.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        return int(first.split()[1]), headers, body

    def post(self, body: bytes, *headers: str, host: str | None = "", path: str = "/mcp") -> tuple[int, bytes]:
        """A request with these headers alone, and a Host, by default the right one; None for no Host."""
        lines = [f"POST {path} HTTP/1.1"]
        if host is not None:
            lines.append(f"Host: {host or f'127.0.0.1:{self.port}'}")
        lines += ["Connection: close", "Content-Type: application/json"]
        lines += ["Accept: application/json, text/event-stream", *headers]
        if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
            lines.append(f"Content-Length: {len(body)}")
        status, _, answer = self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        return status, answer


INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
).encode()


class Client:
    """An open session on a loop of its own."""

    def __init__(self, served: Served, era: Era) -> None:
        self.served = served
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        headers = {"Authorization": f"Bearer {served.token}"}
        self.session: Session = self.wait(connect_http(served.url, headers=headers, era=era, timeout=DEADLINE))

    def wait(self, work: Awaitable[T]) -> T:
        """What the work gives, done on the client's loop."""

        async def bounded() -> T:
            async with asyncio.timeout(DEADLINE):
                return await work

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result()

    def call(self, tool: str, /, **arguments: object) -> Any:
        """The structured content of a tool's result."""
        return self.wait(self.session.call_tool(tool, arguments))["structuredContent"]

    def close(self) -> None:
        """End the session."""
        self.wait(self.session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
