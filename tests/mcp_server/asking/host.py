"""Scripted hosts: what real ones declare over MCP when they meet a server, and what they do when they are asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tests.mcp_server.raw import Raw

FORMS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
ROOTS: dict[str, Any] = {"roots": {}}
META = "io.modelcontextprotocol/"


class Profile(NamedTuple):
    """A host as it introduces itself: recorded from real ones."""

    name: str
    version: str
    protocol: str
    capabilities: dict[str, Any]

    @property
    def by(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def is_modern(self) -> bool:
        return self.protocol == "2026-07-28"


CLAUDE = Profile("claude-code", "2.1.325", "2026-07-28", {**ROOTS, **FORMS})
OLDER_CLAUDE = Profile("claude-code", "2.1.197", "2025-11-25", {**ROOTS, "elicitation": {}})
CODEX = Profile("codex-mcp-client", "0.166.0", "2025-06-18", FORMS)
OPENCODE = Profile("opencode", "1.18.33", "2025-11-25", ROOTS)
GEMINI = Profile("gemini-cli-mcp-client", "0.61.0", "2025-06-18", ROOTS)

Json = dict[str, Any]
Person = Callable[[Json], Json]
"""Looks at what is asked, `message` and `requestedSchema`, and gives the response."""


def accepts(**content: object) -> Person:
    """A person who fills in a form."""
    return lambda _: {"action": "accept", "content": content}


def says(action: str) -> Person:
    """A person who declines, or dismisses a form."""
    return lambda _: {"action": action}


class Host:
    """A client with a profile, and a person behind it."""

    def __init__(self, home: Path, profile: Profile = CLAUDE, *words: str) -> None:
        self.home = home
        self.profile = profile
        self.raw = Raw(home, *words)
        self.asked: list[Json] = []
        self.notified: list[Json] = []
        self._number = 0
        self._answers: dict[int, Json] = {}
        if not profile.is_modern:
            about = {"name": profile.name, "version": profile.version}
            found = self.request(
                "initialize",
                {"protocolVersion": profile.protocol, "capabilities": profile.capabilities, "clientInfo": about},
            )
            assert found["result"]["protocolVersion"] == profile.protocol
            self.raw.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def send(self, method: str, params: Json) -> int:
        """Send a request; its number."""
        self._number += 1
        if self.profile.is_modern:
            params = {**params, "_meta": {**self._meta(), **params.get("_meta", {})}}
        self.raw.send(self._number, method, params)
        return self._number

    def hear(self, number: int, person: Person | None = None) -> Json:
        """The whole answer to a request; a person is asked what is asked meanwhile."""
        while number not in self._answers:
            found = self.raw.receive()
            if "method" not in found:
                self._answers[found["id"]] = found
                continue
            if "id" not in found:
                self.notified.append(found)
                continue
            assert found["method"] == "elicitation/create", found
            self.asked.append(found["params"])
            assert person is not None, "nobody is there to be asked"
            self.respond(found["id"], person(found["params"]))
        return self._answers.pop(number)

    def respond(self, number: object, result: Json) -> None:
        """Answer a request of the server."""
        self.raw.write(orjson.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + b"\n")

    def request(self, method: str, params: Json, person: Person | None = None) -> Json:
        """The whole answer to a request."""
        return self.hear(self.send(method, params), person)

    def call(self, arguments: Json, *, person: Person | None = None, tool: str = "workflow_execute") -> Json:
        """The result of a tool, for which a person answers whatever is asked, in either era."""
        params: Json = {"name": tool, "arguments": arguments}
        while True:
            result: Json = self.request("tools/call", params, person)["result"]
            if result.get("resultType") != "input_required":
                return result
            assert person is not None, "nobody is there to be asked"
            params = {**params, **self.fill(result, person)}

    def fill(self, result: Json, person: Person) -> Json:
        """What a host adds to the request when it sends it again: the person's responses, and the state."""
        requests = result["inputRequests"]
        self.asked += [one["params"] for one in requests.values()]
        responses = {name: person(one["params"]) for name, one in requests.items()}
        return {"inputResponses": responses, "requestState": result["requestState"]}

    def restart(self) -> Host:
        """The same host with a new server over the same home; the old one has ended."""
        self.end()
        return Host(self.home, self.profile)

    def end(self) -> None:
        """Close the server's input, as a host does that goes."""
        self.raw.stdin.close()
        self.raw.end()
        self.raw.kill()

    def _meta(self) -> Json:
        about = {"name": self.profile.name, "version": self.profile.version}
        return {
            META + "protocolVersion": self.profile.protocol,
            META + "clientCapabilities": self.profile.capabilities,
            META + "clientInfo": about,
        }
