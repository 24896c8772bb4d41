"""The same tools over HTTP, in both eras."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pflow.core.errors import ServerError
from pflow.core.file.home import find_home
from pflow.mcp.protocol.handshake import Era
from pflow.mcp.transport.remote import connect_http
from pflow.mcp_server.http_server import TOKEN, find_token
from pflow.workspace import Workspace
from tests.mcp_server.http.served import DEADLINE, INITIALIZE, Client, Served

HELLO = {
    "inputs": {"name": {"type": "string"}},
    "nodes": [{"id": "greet", "type": "echo", "params": {"text": "hello ${name}"}}],
    "outputs": {"greeting": {"source": "${greet.text}"}},
}
SLOW = {
    "nodes": [
        {"id": "first", "type": "echo", "params": {"text": "done"}},
        {"id": "wait", "type": "shell", "params": {"command": "touch ${mark}; exec sleep 300"}},
    ],
    "inputs": {"mark": {"type": "string"}},
}


def test_a_workflow_runs_over_http(client: Client) -> None:
    answer = client.call("workflow_execute", workflow=HELLO, parameters={"name": "Ada"})
    assert answer["data"]["outputs"] == {"greeting": "hello Ada"}


def test_there_are_the_same_tools_as_over_stdio(client: Client) -> None:
    names = [tool["name"] for tool in client.wait(client.session.list_tools())]
    assert len(names) == 13
    assert str(names[0]).startswith("workflow_")


def test_resources_and_prompts_are_there_too(client: Client) -> None:
    guide: Any = client.wait(client.session.request("resources/read", {"uri": "pflow://guide"}))
    assert guide["contents"][0]["mimeType"] == "text/markdown"
    assert client.wait(client.session.request("prompts/list", {}))["prompts"] == []


def test_many_calls_at_once_keep_apart(client: Client) -> None:
    async def all_of_them() -> list[dict[str, Any]]:
        calls = [
            client.session.call_tool("workflow_execute", {"workflow": HELLO, "parameters": {"name": str(number)}})
            for number in range(20)
        ]
        return await asyncio.gather(*calls)

    answers = client.wait(all_of_them())
    greetings = [answer["structuredContent"]["data"]["outputs"]["greeting"] for answer in answers]
    assert greetings == [f"hello {number}" for number in range(20)]


def test_the_token_of_the_environment_is_used_and_not_shown(serve: Callable[..., Served]) -> None:
    token = "0123456789abcdef0123456789abcdef"
    served = serve(PFLOW_MCP_TOKEN=token)
    client = Client(served, "modern")
    shown = {"nodes": [{"id": "show", "type": "shell", "params": {"command": "echo [$PFLOW_MCP_TOKEN]"}}]}
    run = client.call("workflow_execute", workflow={**shown, "outputs": {"seen": {"source": "${show.stdout}"}}})
    assert run["data"]["outputs"]["seen"].strip() == "[]"
    client.close()
    assert token not in served.said


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the environment of processes as files")
@pytest.mark.parametrize("given", [True, False])
def test_no_step_sees_the_servers_token_and_nothing_records_it(serve: Callable[..., Served], given: bool) -> None:
    token = "0123456789abcdef0123456789abcdef"
    served = serve(PFLOW_MCP_TOKEN=token, MARK="here") if given else serve(MARK="here")
    token = served.token
    client = Client(served, "modern")
    steps: list[dict[str, Any]] = [
        {"type": "read-file", "params": {"path": "/proc/self/environ"}},
        {"type": "read-file", "params": {"path": f"/proc/{served.process.pid}/environ"}},
        {"type": "shell", "params": {"command": f"tr '\\0' ' ' < /proc/{served.process.pid}/environ | rev"}},
        {"type": "shell", "params": {"command": "env"}},
        {"type": "code", "params": {"code": "import os\nresult = dict(os.environ)"}},
        {"type": "echo", "params": {"text": f"it is {token}"}},
    ]
    answers = [client.call("workflow_execute", workflow={"nodes": [{"id": "step", **step}]}) for step in steps]
    wanted = {
        "inputs": {"pflow_mcp_token": {"type": "string", "secret": True}},
        "nodes": [
            {
                "id": "step",
                "type": "code",
                "params": {"code": "result = t[::-1]", "inputs": {"t": "${pflow_mcp_token}"}},
            }
        ],
    }
    answers.append(client.call("workflow_execute", workflow=wanted))
    assert [answer.get("error", {}).get("type") for answer in answers[:2]] == ["security", "security"]
    assert "ereh=KRAM" in str(answers[2])
    assert token not in str(answers)
    assert token[::-1] not in str(answers)
    client.close()
    stored = [file.read_bytes() for file in served.home.rglob("*") if file.is_file()]
    assert not [data for data in stored if token.encode() in data]


def test_a_token_that_was_stored_is_used_and_otherwise_every_server_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOKEN, raising=False)
    home = find_home({"PFLOW_HOME": str(tmp_path / ".pflow")})
    (first, is_new), (second, _) = find_token(home), find_token(home)
    assert is_new
    assert first != second
    assert len(first) >= 43  # 256 bits
    with Workspace(home) as workspace:
        workspace.set_setting(TOKEN, "a" * 32)
    assert find_token(home) == ("a" * 32, False)


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_wrong_token_is_refused(served: Served, era: Era) -> None:
    async def connect() -> None:
        session = await connect_http(served.url, headers={"Authorization": "Bearer wrong"}, era=era)
        try:
            await session.list_tools()
        finally:
            await session.close()

    with pytest.raises(ServerError):
        asyncio.run(connect())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.requirement("server5:rule-20")
def test_a_signal_ends_a_busy_server_and_leaves_its_run_resumable(
    serve: Callable[..., Served], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    served = serve()
    client = Client(served, "modern")
    mark = tmp_path / "began"

    async def begin_and_signal() -> asyncio.Task[Any]:
        call = asyncio.create_task(
            client.session.call_tool("workflow_execute", {"workflow": SLOW, "parameters": {"mark": str(mark)}})
        )
        while not mark.exists():
            await asyncio.sleep(0.01)
        served.process.send_signal(number)
        await asyncio.wait([call])
        return call

    call = client.wait(begin_and_signal())
    assert served.end(number) == code
    client.close()
    if call.exception() is None:
        assert call.result()["structuredContent"]["error"]
    with Workspace(find_home({"PFLOW_HOME": str(served.home)})) as workspace:
        run = workspace.show_run("latest")
    assert run["status"] == "stopped"
    steps: Any = run["steps"]
    assert steps[0]["status"] == "completed"


def open_session(served: Served) -> str:
    """The id of a new session."""
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{served.port}", "Connection: close", served.auth]
    lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    lines += [f"Content-Length: {len(INITIALIZE)}", "", ""]
    status, headers, _ = served.send("\r\n".join(lines).encode() + INITIALIZE)
    assert status == 200
    return headers["mcp-session-id"]


def is_open(served: Served, session: str) -> bool:
    """Whether a session can still be used; using it counts."""
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    status, _ = served.post(ping, served.auth, f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-06-18")
    assert status in (200, 404)
    return status == 200


def listen_on(served: Served, session: str) -> socket.socket:
    """A stream on which the server may speak, as clients hold one open."""
    lines = ("Accept: text/event-stream", f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-06-18")
    stream = follow(served, "GET /mcp HTTP/1.1", *lines, "")
    read_until(stream, b"text/event-stream")
    return stream


def test_sessions_that_nobody_closed_lock_nobody_out(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 3})
    opened = [open_session(served) for _ in range(10)]
    assert [session for session in opened if is_open(served, session)] == opened[-3:]


def test_the_session_that_was_idle_for_longest_makes_room(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 3})
    first, second, third = (open_session(served) for _ in range(3))
    assert is_open(served, first)
    fourth = open_session(served)
    assert [is_open(served, each) for each in (first, second, third, fourth)] == [True, False, True, True]


@pytest.mark.slow
def test_sessions_in_use_are_never_ended_and_one_more_is_refused(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 2})
    sessions = [open_session(served), open_session(served)]
    streams = [listen_on(served, each) for each in sessions]
    status, body = served.post(INITIALIZE, served.auth)
    assert (status, b"too many sessions are in use" in body) == (503, True)
    assert all(is_open(served, each) for each in sessions)
    streams[0].close()
    third = wait_for_session(served)
    assert [is_open(served, each) for each in (*sessions, third)] == [False, True, True]
    streams[1].close()


def wait_for_session(served: Served) -> str:
    """A session, as soon as the server has noticed that a client hung up."""
    while served.post(INITIALIZE, served.auth)[0] != 200:
        pass
    return open_session(served)


def test_one_address_has_only_its_share(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 10, "of_a_peer": 2})
    opened = [open_session(served) for _ in range(4)]
    assert [is_open(served, each) for each in opened] == [False, False, True, True]


@pytest.mark.slow
def test_many_sessions_at_once_all_open_and_stay_within_the_bound(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 3})
    with ThreadPoolExecutor(3) as pool:
        opened = list(pool.map(lambda _: open_session(served), range(24)))
    assert len(set(opened)) == 24
    assert sum(is_open(served, each) for each in opened) <= 3


def test_a_session_that_its_client_ended_is_forgotten(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 2})
    kept, ended = open_session(served), open_session(served)
    head = f"DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n{served.auth}\r\n"
    assert served.send(f"{head}Mcp-Session-Id: {ended}\r\n\r\n".encode())[0] == 200
    open_session(served)
    assert is_open(served, kept)


@pytest.mark.slow
def test_a_session_that_its_client_failed_to_end_still_counts(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 2})
    opened = [open_session(served) for _ in range(2)]
    head = f"DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n{served.auth}\r\n"
    for session in opened:
        wrong = f"{head}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 1999-01-01\r\n\r\n"
        assert served.send(wrong.encode())[0] >= 400
    opened += [open_session(served) for _ in range(2)]
    assert [is_open(served, each) for each in opened] == [False, False, True, True]


@pytest.mark.slow
def test_of_two_session_headers_the_first_counts(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 2})
    first, second = open_session(served), open_session(served)
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    served.post(ping, served.auth, f"Mcp-Session-Id: {first}", f"Mcp-Session-Id: {second}")
    third = open_session(served)
    assert [is_open(served, each) for each in (first, second, third)] == [True, False, True]


@pytest.mark.slow
def test_what_opens_no_session_ends_none(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"sessions": 1})
    session = open_session(served)
    assert served.post(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', served.auth)[0] >= 400
    assert served.post(b'{"jsonrpc":"2.0","id":[1],"method":"initialize"}', served.auth)[0] == 400
    assert is_open(served, session)


def test_a_session_that_nobody_uses_ends_after_a_while(serve: Callable[..., Served]) -> None:
    served = serve(bounds={"idle": 0.01})
    session = open_session(served)
    pause = 0.02
    while is_open(served, session):  # which uses it, so that a look too soon keeps it alive
        threading.Event().wait(pause)
        pause *= 2


def follow(served: Served, *lines: str) -> socket.socket:
    """A connection on which a request was sent, to read what comes."""
    connection = socket.create_connection(("127.0.0.1", served.port), timeout=DEADLINE)
    head = "\r\n".join([lines[0], f"Host: 127.0.0.1:{served.port}", served.auth, *lines[1:-1], "", ""])
    connection.sendall(head.encode() + lines[-1].encode())
    return connection


def read_until(connection: socket.socket, *wanted: bytes) -> None:
    seen = b""
    while not all(each in seen for each in wanted):
        part = connection.recv(65536)
        assert part, seen
        seen += part


CHANGED = (b"notifications/resources/list_changed", b"notifications/prompts/list_changed")


def test_every_session_of_the_older_protocol_hears_of_a_saved_workflow(served: Served) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: close\r\n{served.auth}\r\n"
    head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    _, headers, _ = served.send(f"{head}Content-Length: {len(INITIALIZE)}\r\n\r\n".encode() + INITIALIZE)
    session = f"Mcp-Session-Id: {headers['mcp-session-id']}"
    ready = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    assert served.send(f"{head}{session}\r\nContent-Length: {len(ready)}\r\n\r\n{ready}".encode())[0] == 202
    with follow(served, "GET /mcp HTTP/1.1", session, "Accept: text/event-stream", "") as stream:
        read_until(stream, b"200 OK", b"\r\n\r\n")
        other = Client(served, "legacy")
        assert other.call("workflow_save", workflow=HELLO, name="heard-before", description="Greet")["data"]
        read_until(stream, *CHANGED)
        other.close()


def test_a_client_that_hangs_up_stops_its_run_and_leaves_it_resumable(served: Served, tmp_path: Path) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    mark = tmp_path / "began"
    arguments = {"workflow": SLOW, "parameters": {"mark": str(mark)}}
    params = {"name": "workflow_execute", "arguments": arguments, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: workflow_execute"]
    headers += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    with follow(served, "POST /mcp HTTP/1.1", *headers, f"Content-Length: {len(body)}", body):
        while not mark.exists():
            pass
    with Workspace(find_home({"PFLOW_HOME": str(served.home)})) as workspace:
        while (run := workspace.show_run("latest"))["status"] == "running":
            pass
    assert run["status"] == "stopped"
    steps: Any = run["steps"]
    assert steps[0]["status"] == "completed"


def test_who_subscribed_hears_of_a_saved_workflow(served: Served) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    wanted = {"resourcesListChanged": True, "promptsListChanged": True}
    params = {"notifications": wanted, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
    headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"]
    headers += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    with follow(served, "POST /mcp HTTP/1.1", *headers, f"Content-Length: {len(body)}", body) as stream:
        read_until(stream, b"notifications/subscriptions/acknowledged")
        other = Client(served, "modern")
        assert other.call("workflow_save", workflow=HELLO, name="heard", description="Greet")["data"]
        read_until(stream, *CHANGED)
        other.close()
