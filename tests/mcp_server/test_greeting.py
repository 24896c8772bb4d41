"""What clients ask first is answered without the SDK, just as the SDK would, and the SDK goes on from there."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.core.file.home import Home
from pflow.mcp_server.greeting import Greeter
from pflow.mcp_server.sdk_stream import Incoming, Outgoing
from pflow.mcp_server.tool_server import PflowServer
from tests.mcp_server.client import COMMAND
from tests.mcp_server.raw import INITIALIZE, MODERN_META, Raw
from tests.quick import examples

Json = dict[str, Any]

MODERN: Json = {"_meta": MODERN_META}
LEGACY_START: list[Json] = [
    {"id": 1, **INITIALIZE},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "ping"},
    {"id": 3, "method": "tools/list"},
]
MODERN_START: list[Json] = [
    {"id": 1, "method": "server/discover", "params": MODERN},
    {"id": 2, "method": "tools/list", "params": MODERN},
]
CALL: Json = {"name": "registry_search", "arguments": {"pattern": "echo"}}


def lines(messages: list[Json]) -> bytes:
    return b"".join(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n" for message in messages)


@pytest.mark.parametrize("toolset", ["full", "core"])
@pytest.mark.parametrize("messages", [LEGACY_START, MODERN_START], ids=["legacy", "modern"])
def test_the_first_questions_are_answered_by_a_process_that_cannot_load_the_sdk(
    raw: Callable[..., Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: list[Json], toolset: str
) -> None:
    for package in ("mcp", "mcp_types", "pydantic", "pydantic_core", "starlette", "anyio", "httpx2", "uvicorn"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("raise ImportError('this is not installed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    server = raw("--toolset", toolset)
    server.write(lines(messages))
    asked = [message["id"] for message in messages if "id" in message]
    answers = [server.receive() for _ in asked]
    assert [answer["id"] for answer in answers] == asked
    assert all("result" in answer for answer in answers)
    code, said = server.end()
    assert code != 0
    assert b"this is not installed" in said


class Sdk:
    """The SDK's side of one conversation, without anything in front of it."""

    def __init__(self, home: Path, toolset: str) -> None:
        self._server = PflowServer(Home(home), toolset=toolset)

    async def answer(self, messages: list[Json]) -> list[Json]:
        """What is answered to messages that come one after the other."""
        queue: asyncio.Queue[Json | None] = asyncio.Queue()
        answers: list[Json] = []
        came = asyncio.Event()

        async def send(_: object, data: bytes) -> None:
            answers.append(orjson.loads(data))
            came.set()

        low = self._server._lowlevel_server
        running = asyncio.create_task(low.run(Incoming(queue), Outgoing(send), low.create_initialization_options()))
        for message in messages:
            came.clear()
            queue.put_nowait({"jsonrpc": "2.0", **message})
            if "id" in message:
                async with asyncio.timeout(60):
                    await came.wait()
        queue.put_nowait(None)
        await running
        await self._server.engine.close()
        return answers


def compare(home: Path, toolset: str, messages: list[Json]) -> int:
    """Hold every answer of the greeter against the SDK's; how many there were."""

    async def ask() -> list[Json]:
        return await Sdk(home, toolset).answer(messages)

    expected = {orjson.dumps(answer["id"]): answer for answer in asyncio.run(ask())}
    greeter = Greeter(toolset)
    replies = [greeter.greet({"jsonrpc": "2.0", **message}).reply for message in messages]
    found = [orjson.loads(reply) for reply in replies if reply is not None]
    for answer in found:
        assert answer == expected[orjson.dumps(answer["id"])]
    return len(found)


@pytest.mark.parametrize("toolset", ["full", "core"])
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999"])
def test_the_answers_of_the_handshake_are_those_of_the_sdk(home: Path, toolset: str, version: str) -> None:
    first, *rest = LEGACY_START
    messages = [{**first, "params": {**first["params"], "protocolVersion": version}}, *rest]
    assert compare(home, toolset, messages) == 3


@pytest.mark.parametrize("toolset", ["full", "core"])
def test_the_answers_of_the_stateless_protocol_are_those_of_the_sdk(home: Path, toolset: str) -> None:
    assert compare(home, toolset, MODERN_START) == 2


CLAUDE: Json = {
    "roots": {"listChanged": True},
    "sampling": {"context": {}, "tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "experimental": {"x": {"deep": [1, None]}},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
    "tasks": {"list": {}, "cancel": {}, "requests": {"sampling": {"createMessage": {}}}},
}


def test_what_real_clients_say_of_themselves_is_understood(home: Path) -> None:
    icons = [{"src": "https://claude.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}]
    about: Json = {"name": "claude-code", "title": "Claude Code", "version": "2.1", "icons": icons}
    params = {"protocolVersion": "2025-11-25", "capabilities": CLAUDE, "clientInfo": about}
    token = {"_meta": {"progressToken": 1}}
    legacy = [{"id": 1, "method": "initialize", "params": params}, {"id": 2, "method": "tools/list", "params": token}]
    assert compare(home, "full", legacy) == 2
    prefix = "io.modelcontextprotocol/"
    meta = {**MODERN_META, f"{prefix}clientCapabilities": CLAUDE, f"{prefix}clientInfo": about, "progressToken": "a"}
    modern = [{"id": 1, "method": "server/discover", "params": {"_meta": {**meta, "traceparent": "00-1-2-01"}}}]
    assert compare(home, "full", modern) == 1


names = st.sampled_from(["roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "requests", "x"])
leaves: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-1, 1) | st.just("text") | st.just({})
objects: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda inner: (
        st.dictionaries(names | st.sampled_from(["listChanged", "form", "context", "list"]), inner, max_size=3)
        | st.lists(inner, max_size=2)
    ),
    max_leaves=6,
)
icons = st.lists(
    st.dictionaries(st.sampled_from(["src", "mimeType", "sizes", "theme"]), st.just("a") | objects), max_size=2
)
clients = st.dictionaries(
    st.sampled_from(["name", "version", "title", "icons", "websiteUrl", "x"]),
    st.just("a") | objects | icons,
    max_size=4,
) | st.builds(lambda icons: {"name": "a", "version": "1", "icons": icons}, icons)
capabilities = st.dictionaries(names, objects, max_size=3) | objects
versions = st.sampled_from(["2026-07-28", "2025-11-25", "2024-11-05", "x"]) | leaves
meta = st.dictionaries(st.sampled_from(["progressToken", "x", "io.modelcontextprotocol/logLevel"]), objects, max_size=2)


@st.composite
def openings(draw: st.DrawFn) -> list[Json]:
    """A few messages such as begin a conversation, with details that may be wrong."""
    messages: list[Json] = []
    for number in range(draw(st.integers(1, 4))):
        method = draw(st.sampled_from(["initialize", "initialize", "server/discover", "tools/list", "ping"]))
        params: Json = {}
        if method == "initialize":
            info = draw(st.just({"name": "a", "version": "1"}) | clients)
            params = {"protocolVersion": draw(versions), "capabilities": draw(capabilities), "clientInfo": info}
        if draw(st.booleans()):
            params["_meta"] = draw(meta | st.just({}))
            if isinstance(params["_meta"], dict) and draw(st.booleans()):
                prefix = "io.modelcontextprotocol/"
                params["_meta"][f"{prefix}protocolVersion"] = draw(st.just("2026-07-28") | versions)
                params["_meta"][f"{prefix}clientCapabilities"] = draw(st.just({}) | capabilities)
                if draw(st.booleans()):
                    params["_meta"][f"{prefix}clientInfo"] = draw(clients)
        if draw(st.integers(0, 9)) == 0:
            params[draw(st.sampled_from(["cursor", "x"]))] = draw(objects)
        messages.append({"id": number, "method": method, **({"params": params} if params else {})})
    return messages


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(messages=openings())
def test_whatever_is_answered_without_the_sdk_is_what_the_sdk_answers(home: Path, messages: list[Json]) -> None:
    compare(home, "full", messages)


# ---- the SDK goes on


def test_everything_in_one_write_is_answered_once_and_under_its_id(raw: Callable[..., Raw]) -> None:
    server = raw()
    call = {"id": 1, "method": "tools/call", "params": CALL}  # the id of the handshake, used again
    server.write(lines([*LEGACY_START, call, {"id": 4, "method": "prompts/list"}, {"id": "x", "method": "ping"}]))
    answers = [server.receive() for _ in range(6)]
    assert [answer["id"] for answer in answers[:3]] == [1, 2, 3]
    assert sorted(str(answer["id"]) for answer in answers[3:]) == ["1", "4", "x"]
    [called] = [answer for answer in answers[3:] if answer["id"] == 1]
    assert called["result"]["structuredContent"]["success"] is True
    server.send("last", "ping")
    assert server.receive() == {"jsonrpc": "2.0", "id": "last", "result": {}}


def test_the_stateless_protocol_goes_on_with_the_sdk(raw: Callable[..., Raw]) -> None:
    server = raw()
    server.write(lines([*MODERN_START, {"id": 3, "method": "tools/call", "params": {**CALL, **MODERN}}]))
    assert [server.receive()["id"] for _ in range(2)] == [1, 2]
    called = server.receive()
    assert (called["id"], called["result"]["resultType"]) == (3, "complete")
    server.send(4, "initialize", INITIALIZE["params"])  # type: ignore[arg-type]
    assert server.receive()["error"]["code"] == -32022
    server.send(5, "ping", MODERN)
    assert server.receive()["error"]["code"] == -32601


def test_a_client_that_shook_hands_speaks_no_other_protocol(raw: Callable[..., Raw]) -> None:
    server = raw()
    server.meet()
    for method in ("tools/list", "server/discover", "ping"):
        server.send(1, method, MODERN)
        assert server.receive()["error"]["code"] in (-32600, -32601)


def test_tools_are_not_listed_before_the_handshake(raw: Callable[..., Raw]) -> None:
    server = raw()
    server.send(1, "ping")
    assert server.receive()["result"] == {}
    server.send(2, "tools/list")
    assert server.receive()["error"]["code"] == -32602
    server.meet()
    server.send(3, "tools/list")
    assert len(server.receive()["result"]["tools"]) == 13


def test_the_client_that_was_greeted_hears_of_changes(raw: Callable[..., Raw]) -> None:
    server = raw()
    document = {"nodes": [{"id": "echo"}]}
    save = {"name": "workflow_save", "arguments": {"workflow": document, "name": "new", "description": "Says nothing"}}
    server.write(lines([*LEGACY_START, {"id": 4, "method": "tools/call", "params": save}]))
    heard = {server.receive().get("method", "answer") for _ in range(6)}
    assert heard == {"answer", "notifications/resources/list_changed", "notifications/prompts/list_changed"}


def test_a_call_that_is_cancelled_while_the_sdk_loads_is_not_answered(raw: Callable[..., Raw], tmp_path: Path) -> None:
    server = raw()
    command = {"command": f"touch {tmp_path / 'ran'}; exec sleep 300"}
    document = {"nodes": [{"id": "wait", "type": "shell", "params": command}]}
    call = {"name": "workflow_execute", "arguments": {"workflow": document}}
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 4}}
    messages = [*LEGACY_START, {"id": 4, "method": "tools/call", "params": call}, cancel]
    server.write(lines([*messages, {"id": 5, "method": "prompts/list"}]))
    assert [server.receive()["id"] for _ in range(4)] == [1, 2, 3, 5]
    server.stdin.close()
    assert server.end()[0] == 0
    assert server.stdout.read() == b""


def test_what_is_asked_from_a_file_is_answered_before_the_end(home: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    asked.write_bytes(lines([*LEGACY_START, {"id": 4, "method": "tools/call", "params": CALL}]))
    with asked.open("rb") as file:
        done = subprocess.run(
            COMMAND, stdin=file, capture_output=True, timeout=60, env={**os.environ, "PFLOW_HOME": str(home)}
        )
    assert (done.returncode, done.stderr) == (0, b"")
    answers = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert answers[3]["result"]["isError"] is False


def test_a_client_that_only_looks_can_leave_at_once(raw: Callable[..., Raw]) -> None:
    server = raw()
    server.write(lines(LEGACY_START))
    assert [server.receive()["id"] for _ in range(3)] == [1, 2, 3]
    server.stdin.close()
    assert server.end() == (0, b"")


@pytest.mark.slow
def test_what_comes_after_many_long_answers_is_answered_though_the_client_has_closed_its_end(home: Path) -> None:
    listings = [{"id": number, "method": "tools/list"} for number in range(4, 1500)]
    asked = lines([*LEGACY_START, *listings, {"id": "last", "method": "tools/call", "params": CALL}])
    done = subprocess.run(
        COMMAND, input=asked, capture_output=True, timeout=60, env={**os.environ, "PFLOW_HOME": str(home)}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [orjson.loads(line)["id"] for line in done.stdout.splitlines()] == [*range(1, 1500), "last"]


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_a_server_that_still_loads_the_sdk(raw: Callable[..., Raw], name: str, code: int) -> None:
    server = raw()
    server.write(lines([*LEGACY_START, {"id": 4, "method": "tools/call", "params": CALL}]))
    assert [server.receive()["id"] for _ in range(3)] == [1, 2, 3]
    server.process.send_signal(getattr(signal, name))
    assert server.end() == (code, b"")


@pytest.mark.slow
def test_hundreds_of_requests_that_wait_for_the_sdk_are_all_answered(raw: Callable[..., Raw]) -> None:
    server = raw()
    calls = [{"id": number, "method": "resources/templates/list"} for number in range(4, 1004)]
    server.write(lines([*LEGACY_START, *calls]))
    found = [server.receive()["id"] for _ in range(1003)]
    assert sorted(found) == list(range(1, 1004))


@pytest.mark.slow
def test_a_flood_of_notifications_does_not_stop_the_answers(raw: Callable[..., Raw]) -> None:
    server = raw()
    noise = [{"method": "notifications/roots/list_changed"}] * 2_000
    server.write(lines([*noise, *LEGACY_START, {"id": 4, "method": "tools/call", "params": CALL}]))
    assert [server.receive()["id"] for _ in range(4)] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_client_may_ask_very_often_before_it_reads(raw: Callable[..., Raw]) -> None:
    server = raw()
    pings = [{"id": number, "method": "ping"} for number in range(20_000)]
    server.write(lines([*LEGACY_START, *pings, {"id": "last", "method": "tools/call", "params": CALL}]))
    assert [server.receive()["id"] for _ in range(3)] == [1, 2, 3]
    found = [server.receive()["id"] for _ in range(20_001)]
    assert {str(number) for number in found} == {*map(str, range(20_000)), "last"}
