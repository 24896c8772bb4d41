"""The client that the official conformance suite runs: pflow's sessions and logins, used as a scenario wants it.

`python -m tests.conformance.client URL`, with the scenario in the environment. What it does for a scenario is what a
user would configure for such a server; everything that goes over the wire is the product's.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from pflow.core.error_text import render_error
from pflow.core.errors import PflowError, ServerError
from pflow.core.file.home import Home
from pflow.mcp.call.argument import ArgumentCheck
from pflow.mcp.oauth.login import oauth_for
from pflow.mcp.protocol.session import Session
from pflow.mcp.server.config import ServerConfig, read_server
from pflow.mcp.server.credential import check_credentials
from pflow.mcp.tools.entry import make_entry
from pflow.mcp.transport.open import dial

TIMEOUT = 100.0
"""Seconds for a server to answer: the suite, which stops us after 120, may run many of us at once."""
CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client id of a client that describes itself; the suite knows this one."""

Tools = Mapping[str, Mapping[str, Any]]
"""Registry entries by the tools' own names."""


class Scenario:
    """What the suite says: a name, and what a user would have been given."""

    def __init__(self, name: str, context: Mapping[str, Any]) -> None:
        self.name = name
        self.context = context
        self.variables = {"CLIENT_SECRET": str(context.get("client_secret", ""))}

    def server(self, url: str) -> ServerConfig:
        """The server as a user would configure it."""
        return read_server("conformance", {"url": url, **({"auth": self.auth()} if self.is_protected else {})})

    @property
    def is_protected(self) -> bool:
        return self.name.startswith("auth/")

    def auth(self) -> dict[str, object]:
        """Who asks: a person who logs in, unless there is a client for programs."""
        secret = {"client_secret_env": "CLIENT_SECRET"} if self.context.get("client_secret") else {}
        match self.name:
            case "auth/client-credentials-basic":
                return {"type": "client_credentials", "client_id": self.context["client_id"], **secret}
            case "auth/pre-registration":
                return {"type": "oauth", "client_id": self.context["client_id"], **secret}
            case "auth/basic-cimd":
                return {"type": "oauth", "client_id": CLIENT_DOCUMENT}
        return {"type": "oauth"}

    def calls(self, tools: Tools) -> list[tuple[str, Mapping[str, object]]]:
        """Which tools to call with what."""
        if "toolCalls" in self.context:
            return [(call["name"], call["arguments"]) for call in self.context["toolCalls"]]
        match self.name:
            case "tools_call":
                return [("add_numbers", {"a": 5, "b": 3})]
            case "json-schema-2020-12-preservation":
                kept = tools["json_schema_2020_12_tool"]["mcp_config"]["definition"]
                return [("json_schema_echo", {"schema": kept["inputSchema"]})]
            case "json-schema-ref-no-deref":
                return []  # that server has nothing to call; what counts is what we fetch while we look at its tools
        return [(name, {}) for name in tools]


async def answer(requests: Mapping[str, object]) -> dict[str, object]:
    """A person who agrees to everything and fills in nothing."""
    return {key: {"action": "accept", "content": {}} for key in requests}


async def connect(scenario: Scenario, url: str, home: Home, browser: Browser) -> Session:
    """As pflow connects to a configured server, with a person at hand."""
    server = scenario.server(url)
    auth = None
    if server.uses_oauth:
        auth = oauth_for(
            server,
            home=home,
            variables=scenario.variables,
            interactive=True,
            say=print,
            timeout=TIMEOUT,
            open_url=browser.open,
        )
    server = server._replace(headers=check_credentials(server, scenario.variables))
    return await dial(server, timeout=TIMEOUT, auth=auth, answer=answer, warn=print)


async def use(scenario: Scenario, session: Session, server: ServerConfig) -> None:
    """List the tools, look at each as `pflow mcp sync` would, and call them."""
    print("peer:", session.peer)
    tools: dict[str, Any] = {
        str(tool["name"]): make_entry(server, tool, session.peer.version) for tool in await session.list_tools()
    }
    for name, entry in tools.items():
        try:
            ArgumentCheck(entry["mcp_config"]["definition"]["inputSchema"], server=server.name, tool=name)
        except ServerError as error:
            print(render_error(error))  # such a tool is left alone, the others are used

    async def call(name: str, arguments: Mapping[str, object]) -> None:
        print(f"{name}:", await session.call_tool(name, arguments))

    calls = scenario.calls(tools)
    if scenario.name == "sep-2322-client-request-state":
        await asyncio.gather(*(call(*one) for one in calls))  # so that one waits for input while others run
        return
    for one in calls:
        await call(*one)


class Browser:
    """Opens the addresses of logins; the suite's authorization servers agree to everything."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def open(self, url: str) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._visit(url)))

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _visit(self, url: str) -> None:
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as client:
            await client.get(url)


async def run(scenario: Scenario, url: str) -> None:
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        try:
            session = await connect(scenario, url, Home(Path(folder)), browser)
            try:
                await use(scenario, session, scenario.server(url))
            finally:
                await session.close()
        finally:
            await browser.close()


def main() -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    try:
        asyncio.run(run(Scenario(os.environ["MCP_CONFORMANCE_SCENARIO"], context), sys.argv[-1]))
    except PflowError as error:
        print(render_error(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
