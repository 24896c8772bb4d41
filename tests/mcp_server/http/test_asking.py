"""Over HTTP, the official SDK's own client has its person asked what a run asks, in both eras."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult

from tests.mcp_server.asking.document import asks, asks_twice
from tests.mcp_server.http.served import Served

T = TypeVar("T")


def talk(served: Served, work: Callable[[Client], Awaitable[T]], *, mode: Any = "auto", person: Any = None) -> T:
    """What a client gets whose person is asked."""

    async def session() -> T:
        headers = {"Authorization": f"Bearer {served.token}"}
        async with asyncio.timeout(60), httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(served.url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person or nobody) as client:
                return await work(client)

    return asyncio.run(session())


async def nobody(context: object, params: ElicitRequestParams) -> ElicitResult:
    """A person who is not asked."""
    raise AssertionError(params)


def call(served: Served, mode: Any, document: dict[str, Any], *choices: str) -> dict[str, Any]:
    """What `workflow_execute` gives a client whose person answers like this, and dismisses everything else."""
    left = list(choices)

    async def person(context: object, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"choice": left.pop(0)}) if left else ElicitResult(action="cancel")

    async def work(client: Client) -> dict[str, Any]:
        result = await client.call_tool("workflow_execute", {"workflow": document})
        found: dict[str, Any] = result.structured_content["data"]
        return found

    return talk(served, work, mode=mode, person=person)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_person_answers_over_http(served: Served, mode: str) -> None:
    assert call(served, mode, asks_twice(), "post", "there")["outputs"] == {"chosen": "post there"}
    assert call(served, mode, asks())["status"] == "waiting"


def test_what_was_asked_is_answered_to_a_new_server_with_the_same_token_and_no_other(home: Path) -> None:
    arguments = {"workflow": asks()}

    async def ask(client: Client) -> Any:
        return await client.session.call_tool("workflow_execute", arguments, allow_input_required=True)

    async def bring(client: Client) -> Any:
        [name] = asked.input_requests
        responses: Any = {name: ElicitResult(action="accept", content={"choice": "post"})}
        return await client.call_tool(
            "workflow_execute", arguments, input_responses=responses, request_state=asked.request_state
        )

    async def fail(client: Client) -> None:
        with pytest.raises(MCPError, match="requestState"):
            await bring(client)

    tokens = ["a" * 32, "b" * 32, "a" * 32]
    asked: Any = None
    for number, token in enumerate(tokens):
        served = Served(home, PFLOW_MCP_TOKEN=token)
        try:
            if number == 0:
                asked = talk(served, ask)
            elif number == 1:
                talk(served, fail)
            else:
                assert talk(served, bring).structured_content["data"]["outputs"]["choice"] == "post"
        finally:
            served.end()
