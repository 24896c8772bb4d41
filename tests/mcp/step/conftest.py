"""Scripted MCP servers behind the command line, and the processes that no command may leave behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Pflow, pflow, registry_file, write
from tests.mcp.protocol.kit import alive, wait_until

__all__ = ["pflow", "registry_file", "write"]

SCRIPT = str(Path(__file__).with_name("scripted.py"))


def tool(name: str, *, needs: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A tool as a server lists it; `needs` are its required parameters and their types."""
    properties = {param: {"type": kind} for param, kind in (needs or {}).items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, **more}


class Server:
    """One scripted server: what it does, and what it was asked."""

    def __init__(self, name: str, folder: Path, pflow: Pflow) -> None:
        self.name = name
        self.path = folder / f"{name}.json"
        self._pflow = pflow
        self._script: dict[str, Any] = {}

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-S", "-E", SCRIPT, str(self.path)]

    def write(self, *tools: dict[str, Any], **script: Any) -> Server:
        """Give it another script, for processes that start from now on."""
        self._script = {"tools": list(tools), **script}
        self.path.write_text(json.dumps(self._script))
        return self

    def add(self, *options: str) -> Server:
        said = self._pflow("mcp", "add", self.name, *options, "--", *self.argv)
        assert said.code == 0, said
        return self

    def sync(self, *options: str) -> Server:
        said = self._pflow("mcp", "sync", self.name, *options)
        assert said.code == 0, said
        self.forget()
        return self

    def forget(self) -> None:
        """Begin to write down anew."""
        for kind in ("log", "pids"):
            self.path.with_name(f"{self.path.name}.{kind}").unlink(missing_ok=True)

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all requests of a method."""
        messages = [json.loads(line) for line in self._lines("log")]
        return [message.get("params", {}) for message in messages if message.get("method") == method]

    def answers(self, number: object) -> list[dict[str, Any]]:
        """What came back to a request of the server."""
        messages = [json.loads(line) for line in self._lines("log")]
        return [message for message in messages if message.get("id") == number and "method" not in message]

    @property
    def calls(self) -> list[Any]:
        """The arguments of every call."""
        return [params["arguments"] for params in self.asked("tools/call")]

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self._lines("pids")]

    def _lines(self, kind: str) -> list[str]:
        path = self.path.with_name(f"{self.path.name}.{kind}")
        return path.read_text().splitlines() if path.exists() else []


Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path, pflow: Pflow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Configures and syncs a server of these tools; `add=` and `sync=` are options of the commands, None skips one."""
    monkeypatch.setattr("pflow.mcp.protocol.session.LEAVE_SECONDS", 0.2)
    monkeypatch.setattr("pflow.mcp.transport.stdio.PATIENCE", 0.2)
    folder = tmp_path / "servers"
    folder.mkdir()
    made: list[Server] = []

    def make(
        name: str,
        *tools: dict[str, Any],
        add: tuple[str, ...] | None = (),
        sync: tuple[str, ...] | None = (),
        **script: Any,
    ) -> Server:
        server = Server(name, folder, pflow).write(*tools, **script)
        made.append(server)
        if add is not None:
            server.add(*add)
        if add is not None and sync is not None:
            server.sync(*sync)
        return server

    yield make
    wait_until(lambda: not [pid for server in made for pid in server.pids if alive(pid)])


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)
