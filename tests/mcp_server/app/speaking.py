"""A scripted client of either era, which may say that it shows pages beside answers."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Literal

from tests.mcp_server.raw import INITIALIZE, MODERN_META, Raw

Era = Literal["legacy", "modern"]
SHOWS = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}

ASKING = {
    "name": "asking",
    "nodes": [
        {"id": "draft", "type": "echo", "params": {"message": "Hello <b>all</b>"}},
        {
            "id": "approve",
            "type": "ask",
            "params": {
                "prompt": "Post it?",
                "show": {"body": "${draft.message}"},
                "choices": ["post", "stop"],
                "schema": {"copies": {"type": "integer", "default": 1}},
            },
        },
        {"id": "done", "type": "echo", "params": {"message": "${approve.choice}"}},
        {"id": "stopped", "type": "echo", "params": {"message": "no"}},
    ],
    "edges": [
        {"from": "draft", "to": "approve"},
        {"from": "approve", "to": "done", "action": "post"},
        {"from": "approve", "to": "stopped", "action": "stop"},
        {"from": "approve", "to": "stopped", "action": "declined"},
    ],
}


class Speaker:
    """A client, and the server that it has started."""

    def __init__(self, home: Path, era: Era = "modern", *, shows: bool = True) -> None:
        self.home = home
        self._era = era
        self._capabilities = SHOWS if shows else {}
        self._numbers = count(1)
        self._raw = Raw(home)
        self._begin()

    def _begin(self) -> None:
        if self._era == "legacy":
            self._raw.send(0, "initialize", {**INITIALIZE["params"], "capabilities": self._capabilities})  # type: ignore[dict-item]
            assert self._raw.receive()["id"] == 0
            self._raw.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def restart(self) -> None:
        """Another server takes the place of this one."""
        self._raw.kill()
        self._raw = Raw(self.home)
        self._begin()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole answer to a request."""
        number = next(self._numbers)
        meta = {**MODERN_META, "io.modelcontextprotocol/clientCapabilities": self._capabilities}
        about = {"_meta": meta} if self._era == "modern" else {}
        self._raw.send(number, method, {**(params or {}), **about})
        while (found := self._raw.receive()).get("id") != number:
            pass
        return found

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """What a tool answers."""
        found: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return found

    def close(self) -> None:
        self._raw.kill()


def view_of(result: dict[str, Any]) -> dict[str, Any]:
    """What an answer brings for the page."""
    found: dict[str, Any] = result["_meta"]["pflow/view"]
    return found
