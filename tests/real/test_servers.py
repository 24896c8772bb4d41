"""How real servers behave in their odd corners, and that a session takes it."""

import base64
import json
from typing import Any

import pytest

from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.session import Session
from tests.real.conftest import Talk

pytestmark = pytest.mark.needs("mcp-servers")


def names(tools: Any) -> set[str]:
    return {tool["name"] for tool in tools}


def text_of(result: Any) -> str:
    return "".join(block["text"] for block in result["content"])


# ---- everything


def test_tools_that_appear_later_are_announced_and_listed(talk: Talk) -> None:
    """It adds tools once it knows what the client can do."""

    async def use(session: Session) -> Any:
        while not session.tools_changed:
            await session.request("ping", {})
        return await session.list_tools()

    assert {"echo", "get-roots-list"} <= names(talk("everything", use))


def test_a_server_that_asks_for_roots_unasked_gets_them(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        while "get-roots-list" not in names(await session.list_tools()):
            pass
        return text_of(await session.call_tool("get-roots-list", {}))

    assert "file:///somewhere/here" in talk("everything", use, roots=["file:///somewhere/here"])


def test_progress_arrives_before_the_result(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        heard = []
        result = await session.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.2, "steps": 4},
            progress=lambda done, total, message: heard.append((done, total)),
        )
        return heard, text_of(result)

    heard, text = talk("everything", use)
    assert heard == [(1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (4.0, 4.0)]
    assert text.startswith("Long running operation completed")


def test_an_image_arrives_whole(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return await session.call_tool("get-tiny-image", {})

    image = next(block for block in talk("everything", use)["content"] if block["type"] == "image")
    assert image["mimeType"] == "image/png"
    assert base64.b64decode(image["data"], validate=True).startswith(b"\x89PNG")


def test_structured_content_comes_beside_its_text(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return await session.call_tool("get-structured-content", {"location": "Chicago"})

    result = talk("everything", use)
    assert set(result["structuredContent"]) == {"temperature", "conditions", "humidity"}
    assert json.loads(text_of(result)) == result["structuredContent"]


def test_links_to_resources_are_blocks_of_their_own(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return await session.call_tool("get-resource-links", {"count": 2})

    links = [block for block in talk("everything", use)["content"] if block["type"] == "resource_link"]
    assert [link["uri"] for link in links] == ["demo://resource/dynamic/blob/1", "demo://resource/dynamic/text/2"]


# ---- filesystem, sqlite, memory


def test_a_denied_path_is_an_error_of_the_tool(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return await session.call_tool("read_text_file", {"path": "/etc/hostname"})

    result = talk("filesystem", use)
    assert result["isError"] is True
    assert text_of(result).startswith("Access denied - path outside allowed directories")


def test_every_tool_for_files_has_an_output_schema(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return await session.list_tools()

    tools = talk("filesystem", use)
    assert (len(tools), sum("outputSchema" in tool for tool in tools)) == (14, 14)


def test_sqlite_says_errors_as_if_they_were_results(talk: Talk) -> None:
    async def use(session: Session) -> Any:
        return [
            await session.call_tool("read_query", {"query": "SELECT missing"}),
            await session.call_tool("read_query", {"query": "DROP TABLE orders"}),
            await session.call_tool("no_such_tool", {"a": 1}),
        ]

    results = talk("sqlite", use)
    assert [(result["isError"], text_of(result)) for result in results] == [
        (False, "Database error: no such column: missing"),
        (False, "Error: Only SELECT queries are allowed for read_query"),
        (False, "Error: Unknown tool: no_such_tool"),
    ]


def test_memory_gives_objects(talk: Talk) -> None:
    entity = {"name": "pflow", "entityType": "program", "observations": ["runs workflows"]}

    async def use(session: Session) -> Any:
        await session.call_tool("create_entities", {"entities": [entity]})
        return await session.call_tool("read_graph", {})

    assert talk("memory", use)["structuredContent"] == {"entities": [entity], "relations": []}


# ---- the two eras


@pytest.mark.parametrize(("era", "version"), [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_a_server_of_both_eras_answers_the_same_in_each(talk: Talk, era: Era, version: str) -> None:
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}

    async def use(session: Session) -> Any:
        tools = await session.list_tools()
        good: Any = await session.call_tool("convert_time", noon)
        bad = await session.call_tool("get_current_time", {"timezone": "Nowhere/Near"})
        return session.peer.version, names(tools), good["structuredContent"]["time_difference"], bad["isError"]

    assert talk("time", use, era=era) == (version, {"get_current_time", "convert_time"}, "+9.0h", True)


@pytest.mark.parametrize(("server", "era"), [("git", "modern"), ("sqlite", "legacy"), ("everything", "legacy")])
def test_the_era_of_a_server_is_found_out(talk: Talk, server: str, era: Era) -> None:
    async def use(session: Session) -> Any:
        return session.peer.era, len(await session.list_tools()) > 1

    assert talk(server, use) == (era, True)
