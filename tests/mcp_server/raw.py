"""A server behind bare pipes, for what no client would send."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

import orjson

from tests.mcp_server.client import COMMAND

INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
MODERN_META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Raw:
    """A server behind bare pipes."""

    def __init__(self, home: Path, *words: str) -> None:
        self.home = home
        self.process = subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PFLOW_HOME": str(home)},
        )
        self.stdin: IO[bytes] = self.process.stdin  # type: ignore[assignment]
        self.stdout: IO[bytes] = self.process.stdout  # type: ignore[assignment]
        self.stderr: IO[bytes] = self.process.stderr  # type: ignore[assignment]
        self._said: list[bytes] = []
        self._reading = threading.Thread(target=lambda: self._said.append(self.stderr.read()), daemon=True)
        self._reading.start()

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def send(self, number: int | str, method: str, params: dict[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
        self.write(orjson.dumps(message) + b"\n")

    def receive(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads(self.stdout.readline())
        return found

    def meet(self) -> None:
        self.send(0, INITIALIZE["method"], INITIALIZE["params"])  # type: ignore[arg-type]
        assert self.receive()["id"] == 0
        self.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def call(self, number: int, tool: str, arguments: dict[str, Any]) -> None:
        self.send(number, "tools/call", {"name": tool, "arguments": arguments})

    def end(self) -> tuple[int, bytes]:
        """The exit code, and what it said on stderr."""
        code = self.process.wait(timeout=30)
        self._reading.join()
        return code, b"".join(self._said)

    def kill(self) -> None:
        """Leave nothing behind."""
        self.process.kill()
        self.process.wait()
        self._reading.join()
        for stream in (self.stdin, self.stdout, self.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
