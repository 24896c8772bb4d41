"""Requests that must not reach a tool."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from pflow.core.errors import PflowError
from pflow.mcp_server.http_gate import Gate
from pflow.mcp_server.http_server import Connection, Listener
from pflow.mcp_server.listen_address import listen, names_of, read_address
from tests.mcp_server.http.served import INITIALIZE, Served


@pytest.fixture(scope="module", params=["127.0.0.1", "0.0.0.0"])
def everywhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server at each kind of address, with what it needs to listen there."""
    words = ("--allow-remote",) if request.param == "0.0.0.0" else ()
    opened = Served(tmp_path_factory.mktemp("gate") / ".pflow", *words, host=request.param)
    yield opened
    opened.end()


HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "localhost",
    "localhost.evil:{port}",
    "localhost.evil.example:{port}",
    "127.0.0.1.evil.example:{port}",
    "[::1]:{port}",
    "[::ffff:7f00:1]:{port}",
    "127.0.0.1:1",
    "0.0.0.0:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "127.0.0.1:{port}@evil.example",
    "user@127.0.0.1:{port}",
    "127.0.0.1:{port}.",
    "127.0.0.1:{port}:80",
    "*",
    "192.168.1.10:{port}",
]


@pytest.mark.parametrize("host", HOSTS)
def test_a_foreign_host_is_refused_at_every_address(everywhere: Served, host: str) -> None:
    status, body = everywhere.post(INITIALIZE, everywhere.auth, host=host.format(port=everywhere.port))
    assert status in (400, 403, 421)
    assert b"protocolVersion" not in body


def test_a_missing_host_is_refused(everywhere: Served) -> None:
    assert everywhere.post(INITIALIZE, everywhere.auth, host=None)[0] in (400, 421)
    old = f"POST /mcp HTTP/1.0\r\n{everywhere.auth}\r\nContent-Length: {len(INITIALIZE)}\r\n\r\n".encode() + INITIALIZE
    assert everywhere.send(old)[0] == 421


def test_two_hosts_are_refused(everywhere: Served) -> None:
    right = f"Host: 127.0.0.1:{everywhere.port}"
    assert everywhere.post(INITIALIZE, everywhere.auth, right)[0] == 400


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example:{port}",
        "null",
        "",
        "file://",
        "http://localhost.evil:{port}",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}/",
    ],
)
def test_a_foreign_origin_is_refused_even_with_the_token(everywhere: Served, origin: str) -> None:
    header = f"Origin: {origin.format(port=everywhere.port)}"
    status, body = everywhere.post(INITIALIZE, everywhere.auth, header)
    assert status == 403
    assert b"protocolVersion" not in body


def test_two_origins_are_refused_unless_both_are_ours(everywhere: Served) -> None:
    ours = f"Origin: http://127.0.0.1:{everywhere.port}"
    assert everywhere.post(INITIALIZE, everywhere.auth, ours, "Origin: http://evil.example")[0] == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost"])
def test_our_own_names_are_let_in(everywhere: Served, name: str) -> None:
    host = f"{name}:{everywhere.port}"
    status, body = everywhere.post(INITIALIZE, everywhere.auth, f"Origin: http://{host}", host=host)
    assert status == 200
    assert b"protocolVersion" in body


@pytest.mark.parametrize(
    "header",
    [
        "X-Nothing: 1",
        "Authorization: Bearer",
        "Authorization: Bearer ",
        "Authorization: Bearer {token}x",
        "Authorization: Bearer {prefix}",
        "Authorization: Basic {token}",
        "Authorization: {token}",
        "Authorization: Bearer {token}, Bearer {token}",
        "Cookie: token={token}",
    ],
)
def test_without_the_very_token_nothing_is_served(everywhere: Served, header: str) -> None:
    token = everywhere.token
    status, body = everywhere.post(INITIALIZE, header.format(token=token, prefix=token[:-1]))
    assert status == 401
    assert b"protocolVersion" not in body
    assert token.encode() not in body


def test_two_tokens_are_refused(everywhere: Served) -> None:
    assert everywhere.post(INITIALIZE, everywhere.auth, "Authorization: Bearer x")[0] == 401


def test_no_path_and_no_method_goes_without_the_token(everywhere: Served) -> None:
    host = f"Host: 127.0.0.1:{everywhere.port}"
    for method in ("GET", "DELETE", "OPTIONS", "PUT", "HEAD", "PATCH"):
        for path in ("/", "/mcp", "/.well-known/oauth-protected-resource", "/mcp/../mcp", "//mcp"):
            request = f"{method} {path} HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n"
            status, headers, _ = everywhere.send(request.encode())
            assert status == 401
            assert "access-control-allow-origin" not in headers


def test_a_websocket_is_not_opened(everywhere: Served) -> None:
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13"
    request = f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{everywhere.port}\r\n{upgrade}\r\n\r\n"
    assert everywhere.send(request.encode())[0] == 401


# ---- bodies


@pytest.mark.parametrize("size", [(4 << 20) + 1, 1 << 30, 10**17])
def test_a_body_that_is_said_to_be_too_large_is_refused_at_once(served: Served, size: int) -> None:
    assert served.post(b"{", served.auth, f"Content-Length: {size}")[0] == 413


def test_a_body_without_a_length_is_refused_where_it_gets_too_large(served: Served) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    status, _ = served.post(chunk * 80, served.auth, "Transfer-Encoding: chunked")
    assert status in (413, 0)  # the answer is lost if the rest of the body was on its way


def test_a_body_up_to_the_limit_is_read(served: Served) -> None:
    padded = INITIALIZE + b" " * ((4 << 20) - len(INITIALIZE))
    assert served.post(padded, served.auth)[0] == 200


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "9" * 40, "5, 6"])
def test_a_length_that_is_none_is_refused(served: Served, length: str) -> None:
    assert served.post(INITIALIZE, served.auth, f"Content-Length: {length}")[0] in (400, 413)


def test_a_body_that_ends_early_reaches_nothing(served: Served) -> None:
    assert served.send(_head(served, 500) + INITIALIZE[:20], half=True)[0] in (0, 400)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 5_000, b'{"jsonrpc":"2.0","id":1}', b"1" * 100_000]
)
def test_a_body_that_is_no_message_is_an_error_and_the_server_goes_on(served: Served, body: bytes) -> None:
    status, _ = served.post(body, served.auth)
    assert 400 <= status < 500
    assert served.post(INITIALIZE, served.auth)[0] == 200


@pytest.mark.parametrize("number", ["1.5", "1.0", "null", "true", "[1]", "{}", "1" * 25, "1" * 400])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_request_with_an_id_that_is_none_is_refused_under_no_id(served: Served, era: str, number: str) -> None:
    headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"] if era == "modern" else []
    meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    body = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/list","params":{{"_meta":{meta}}}}}'
    status, answer = served.post(body.encode(), served.auth, *headers)
    assert status == 400
    found = json.loads(answer)
    assert found["id"] is None
    assert found["error"]["code"] == (-32700 if len(number) == 400 else -32600)


def test_a_request_that_is_broken_is_refused_under_its_id(served: Served) -> None:
    for body, code in (
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":}', -32700),
    ):
        status, answer = served.post(body, served.auth)
        found = json.loads(answer)
        assert (status, found["id"], found["error"]["code"]) == (400, 7, code)


def test_a_header_that_contradicts_the_body_is_refused(served: Served) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "registry_list", "_meta": meta}}
    ).encode()
    headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list", "Mcp-Name: registry_list"]
    assert served.post(body, served.auth, *headers)[0] == 400


@pytest.mark.parametrize("name", ["other", None])
def test_a_header_that_names_another_task_is_refused(served: Served, name: str | None) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    }
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "a", "_meta": meta}})
    headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tasks/get", *([f"Mcp-Name: {name}"] if name else [])]
    status, answer = served.post(body.encode(), served.auth, *headers)
    assert status == 400
    assert b"-32020" in answer


def test_a_session_that_does_not_exist_is_not_found(served: Served) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    headers = ["Mcp-Session-Id: " + "0" * 32, "MCP-Protocol-Version: 2025-06-18"]
    assert served.post(body, served.auth, *headers)[0] == 404


def _head(served: Served, length: int) -> bytes:
    lines = ["POST /mcp HTTP/1.1", f"Host: 127.0.0.1:{served.port}", served.auth, f"Content-Length: {length}"]
    return "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode()


async def _fine(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"fine"})


def test_a_body_that_does_not_arrive_is_not_waited_for() -> None:
    async def never() -> Any:
        return await asyncio.get_running_loop().create_future()

    async def ask() -> int:
        sent: list[MutableMapping[str, Any]] = []

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        gate = Gate(_fine, hosts=["a:1"], token="t", patience=0.01)
        await gate({"type": "http", "headers": [(b"host", b"a:1"), (b"authorization", b"Bearer t")]}, never, send)
        status: int = sent[0]["status"]
        return status

    assert asyncio.run(ask()) == 408


def test_connections_on_which_no_request_gets_under_way_are_closed() -> None:
    class Quick(Connection):
        patience = 0.1

    async def connect() -> list[bytes]:
        bound = listen(read_address("0"), remote=False)
        config = uvicorn.Config(_fine, http=Quick, ws="none", lifespan="off", log_config=None)
        listener = Listener(config)
        serving = asyncio.create_task(listener.serve([bound]))
        port = bound.getsockname()[1]
        slow = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for _, writer in slow:
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: ")
        ends = await asyncio.gather(*(reader.read() for reader, _ in slow))
        for _, writer in slow:
            writer.close()
        listener.should_exit = True
        await serving
        return list(ends)

    assert asyncio.run(connect()) == [b""] * 20


# ---- addresses


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("8321", "127.0.0.1", 8321),
        (":8321", "127.0.0.1", 8321),
        ("localhost:1", "127.0.0.1", 1),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("[::1]:8321", "::1", 8321),
        ("0.0.0.0:80", "0.0.0.0", 80),
    ],
)
def test_an_address_is_read(text: str, host: str, port: int) -> None:
    address = read_address(text)
    assert (address.host, address.port) == (host, port)


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1", "127.0.0.1:99999", "::1:80", "example.com:80", "a b:1"])
def test_what_is_no_address_says_how_to_write_one(text: str) -> None:
    with pytest.raises(PflowError) as caught:
        read_address(text)
    assert caught.value.code == "usage"
    assert "8321" in caught.value.suggestions[0]


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_other_machines_are_let_in_only_when_that_is_said(host: str) -> None:
    with pytest.raises(PflowError) as caught:
        listen(read_address(f"{host}:0"), remote=False)
    assert caught.value.code == "security"
    assert "--allow-remote" in caught.value.suggestions[1]


def test_a_port_that_is_taken_says_so() -> None:
    with listen(read_address("0"), remote=False) as taken:
        with pytest.raises(PflowError) as caught:
            listen(read_address(str(taken.getsockname()[1])), remote=False)
    assert "address already in use" in caught.value.message


def test_names_are_those_of_the_address_and_those_that_are_allowed() -> None:
    at = read_address("[::1]:8321")
    assert names_of(at) == {"[::1]:8321", "localhost:8321"}
    more = names_of(at, ["Pflow.example", "b.example:443"])
    assert more - names_of(at) == {"pflow.example", "pflow.example:8321", "b.example:443"}


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["--http", "0.0.0.0:0"], {}, "can be reached from other machines"),
        (["--http", "nowhere"], {}, "not a valid address to listen on"),
        (["--http", "0"], {"PFLOW_MCP_TOKEN": "short"}, "too easy to guess"),
        (["--allow-remote"], {}, "go with `--http HOST:PORT`"),
    ],
)
def test_a_server_that_may_not_be_does_not_start(
    tmp_path: Path, words: list[str], env: dict[str, Any], said: str
) -> None:
    environment = {**os.environ, "PFLOW_HOME": str(tmp_path / ".pflow"), **env}
    command = [sys.executable, "-m", "pflow", "serve", "mcp", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode not in (0, 1)
    assert said in done.stderr
    assert "short" not in done.stderr
    assert done.stdout == ""
