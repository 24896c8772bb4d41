"""What is no message, or too much of one, gets an answer, and the next message is served as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from pflow.mcp.protocol.json_line import LINE_LIMIT
from tests.mcp_server.raw import Raw

DEEP = b'{"workflow":' * 5000 + b"1" + b"}" * 5000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raw]:
    raw = Raw(tmp_path_factory.mktemp("wire") / ".pflow")
    try:
        raw.meet()
        yield raw
    finally:
        raw.kill()


@pytest.fixture(autouse=True)
def still_serves(server: Raw) -> Iterator[None]:
    yield
    server.send("still", "ping")
    assert server.receive() == {"jsonrpc": "2.0", "id": "still", "result": {}}
    server.send("still", "no/such")  # which goes all the way
    assert server.receive()["error"]["code"] == -32601


def request(number: object, arguments: bytes, tool: bytes = b"workflow_validate") -> bytes:
    head = b'{"jsonrpc":"2.0","id":' + orjson.dumps(number) + b',"method":"tools/call","params":{"name":"'
    return head + tool + b'","arguments":' + arguments + b"}}"


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        pytest.param(b"{", None, -32700, id="half an object"),
        pytest.param(b"nonsense", None, -32700, id="no JSON"),
        pytest.param(b'{"jsonrpc":"2.0","id":5,"method":}', 5, -32700, id="no JSON, with an id"),
        pytest.param(b'{"method":"ping",,"id":"six"}', "six", -32700, id="no JSON, an id at the end"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":"\xff\xfe"}', 7, -32700, id="no UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":8,"method":"ping\x00"}', 8, -32700, id="a NUL"),
        pytest.param(b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"x":"\\ud800"}}', 9, -32700, id="half a pair"),
        pytest.param(b'{"jsonrpc":"2.0","id":10,"method":"ping","params":{"x":1e999}}', 10, -32700, id="no number"),
        pytest.param(request(11, DEEP), 11, -32700, id="5,000 levels"),
        pytest.param(b"[]", None, -32600, id="an empty batch"),
        pytest.param(b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600, id="a batch"),
        pytest.param(b"1", None, -32600, id="a number"),
        pytest.param(b'"ping"', None, -32600, id="a string"),
        pytest.param(b"null", None, -32600, id="null"),
        pytest.param(b"{}", None, -32600, id="an empty object"),
        pytest.param(b'{"jsonrpc":"2.0","id":12}', 12, -32600, id="no method"),
        pytest.param(b'{"jsonrpc":"1.0","id":13,"method":"ping"}', 13, -32600, id="another version"),
        pytest.param(b'{"jsonrpc":"2.0","id":14,"method":5}', 14, -32600, id="a method that is no text"),
        pytest.param(b'{"jsonrpc":"2.0","id":15,"method":"ping","params":[1]}', 15, -32600, id="params by position"),
        pytest.param(b'{"jsonrpc":"2.0","id":16,"method":"no/such"}', 16, -32601, id="an unknown method"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{}}', 17, -32602, id="a call of nothing"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":18,"method":"tools/call","params":{"name":5}}', 18, -32602, id="wrong params"
        ),
        pytest.param(request(19, b"{}", b"no_such_tool"), 19, -32602, id="an unknown tool"),
        pytest.param(request(20, b'"text"'), 20, -32602, id="arguments that are no object"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600, id="an id that is a fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', None, -32600, id="an id that is a float"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600, id="an id that is null"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600, id="an id that is a boolean"),
        pytest.param(b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None, -32600, id="an id that is a list"),
        pytest.param(b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600, id="an id that is an object"),
        pytest.param(b'{"jsonrpc":"2.0","id":' + b"1" * 400 + b',"method":"ping"}', None, -32700, id="400 digits"),
        pytest.param(b'{"jsonrpc":"2.0","id":' + b"1" * 25 + b',"method":"ping"}', None, -32600, id="25 digits"),
        pytest.param(b'{"jsonrpc":"2.0","id":007,"method":"ping"}', None, -32700, id="leading zeros"),
        pytest.param(b'{"jsonrpc":"2.0","id":1e2,"method":}', None, -32700, id="no JSON, an id with an exponent"),
        pytest.param(b'{"jsonrpc":"2.0","id":"a\tb","method":}', None, -32700, id="no JSON, a tab in the id"),
        pytest.param(b'{"jsonrpc":"2.0","id":"\xff","method":}', None, -32700, id="no JSON, no UTF-8 in the id"),
        pytest.param('{"jsonrpc":"2.0","id":"é","method":}'.encode(), "é", -32700, id="no JSON, an id in UTF-8"),
        pytest.param(b'{"jsonrpc":"2.0","id":21,"method":"ping","params":"x"}', 21, -32600, id="params as text"),
        pytest.param(b'{"jsonrpc":"2.0","id":22,"method":null}', 22, -32600, id="a method that is null"),
        pytest.param(b'{"jsonrpc":2.0,"id":23,"method":"ping"}', 23, -32600, id="a version that is a number"),
        pytest.param(b'{"id":24,"method":"ping"}', 24, -32600, id="no version"),
        pytest.param(b'{"jsonrpc":"2.0","id":25,"method":"ping","params":NaN}', 25, -32700, id="NaN"),
        pytest.param(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}', None, -32600, id="notified"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":26,"method":"tools/list","params":{"cursor":5}}', 26, -32602, id="no cursor"
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":27,"method":"ping","params":{"_meta":[]}}', 27, -32602, id="no meta"),
    ],
)
def test_what_is_no_request_is_refused_by_the_protocols_own_error(
    server: Raw, line: bytes, number: object, code: int
) -> None:
    server.write(line + b"\n")
    answer = server.receive()
    assert (answer["id"], answer["error"]["code"]) == (number, code)


ODD = [
    b"[1]",
    b"{}",
    b"null",
    b"true",
    b"1.5",
    b'{"a":[{}]}',
    b"1" * 30,
    b'"' + b"x" * 100_000 + b'"',
    b"[" * 90 + b"]" * 90,
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value[:10]))
@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("notifications/cancelled", "requestId"),
        ("notifications/cancelled", "reason"),
        ("notifications/progress", "progressToken"),
        ("notifications/progress", "progress"),
        ("notifications/initialized", "_meta"),
        ("notifications/roots/list_changed", "_meta"),
        ("notifications/none/such", "x"),
    ],
)
def test_a_notification_with_odd_fields_is_dropped_without_an_answer(
    server: Raw, method: str, field: str, value: bytes
) -> None:
    server.write(b'{"jsonrpc":"2.0","method":"%s","params":{"%s":%s}}\n' % (method.encode(), field.encode(), value))


@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value[:10]))
@pytest.mark.parametrize("method", ["ping", "tools/list", "tools/call", "prompts/list"])
def test_a_request_with_an_odd_token_for_progress_is_answered_under_its_id(
    server: Raw, method: str, value: bytes
) -> None:
    rest = b'"name":"registry_search","arguments":{"pattern":"echo"},' if method == "tools/call" else b""
    params = b'{%s"_meta":{"progressToken":%s}}' % (rest, value)
    server.write(b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' % (method.encode(), params))
    assert server.receive()["id"] == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not a message"}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":[]}',
        b'{"jsonrpc":"2.0","id":[1],"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"error":"text"}',
        b'{"jsonrpc":"2.0","error":{}}',
        b'{"id":1,"result":{}}',
    ],
)
def test_a_response_to_nothing_is_never_answered(server: Raw, line: bytes) -> None:
    server.write(line + b"\n")


def test_a_line_of_a_hundred_megabytes_is_refused_and_costs_no_memory(server: Raw) -> None:
    block = b"[" * (1 << 20)
    for _ in range(100):
        server.write(block)
    server.write(b"\n")
    answer = server.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


def test_the_largest_ids_are_echoed_exactly(server: Raw) -> None:
    for number in (2**64 - 1, -(2**63), "", "é" * 1000, "1"):
        server.write(orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) + b"\n")
        answer = server.receive()
        assert (answer["id"], type(answer["id"])) == (number, type(number))


def test_two_requests_under_one_id_are_both_answered(server: Raw) -> None:
    for _ in range(2):
        server.call(1, "registry_search", {"pattern": "echo"})
    assert [server.receive()["id"] for _ in range(2)] == [1, 1]


def test_an_unknown_tool_is_refused_with_what_was_meant(server: Raw) -> None:
    server.call(1, "workflow_exec", {})
    assert server.receive()["error"]["message"] == "Unknown tool: workflow_exec; did you mean `workflow_execute`?"


@pytest.mark.requirement("server5:error-5")
@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("workflow_validate", {}, "`workflow` is missing"),
        ("workflow_validate", {"workflw": {}}, "`workflw` is not known; did you mean `workflow`?"),
        ("workflow_execute", {"workflow": "x", "verbose": True}, "`verbose` is not known"),
        ("workflow_execute", {"workflow": 5}, "`workflow` must be string or object, not integer"),
        ("registry_describe", {"nodes": "echo"}, "`nodes` must be array, not string"),
        ("trace_read", {"offset": -1}, "`offset` must be at least `0`"),
        ("settings_set", {"key": "A_TOKEN", "value": 12345678}, "`value` must be string, not integer"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(
    server: Raw, tool: str, arguments: dict[str, Any], problem: str
) -> None:
    server.call(1, tool, arguments)
    result = server.receive()["result"]
    assert result["isError"] is True
    error = result["structuredContent"]["error"]
    assert error["type"] == "validation"
    assert error["details"]["problems"][0] == problem
    assert "12345678" not in str(result)


def test_a_line_that_is_too_long_is_refused_under_its_id(server: Raw) -> None:
    begin = request("long", b'{"workflow":"')[:-2]
    server.write(begin)
    block = b"x" * (1 << 20)
    for _ in range(LINE_LIMIT // len(block) + 8):
        server.write(block)
    server.write(b'"}}}\n')
    answer = server.receive()
    assert (answer["id"], answer["error"]["code"]) == ("long", -32600)


def test_a_million_arguments_are_refused(server: Raw) -> None:
    server.write(request(1, orjson.dumps({f"key-{number}": 0 for number in range(1_000_000)})) + b"\n")
    answer = server.receive()
    assert (answer["id"], answer["error"]["code"]) == (1, -32700)


def test_arguments_that_do_not_exist_are_named_but_not_all_of_them(server: Raw) -> None:
    server.write(request(1, orjson.dumps({f"key-{number}": 0 for number in range(100_000)})) + b"\n")
    answer = server.receive()
    assert answer["result"]["structuredContent"]["error"]["type"] == "validation"
    assert len(orjson.dumps(answer)) < 20_000


def test_inputs_that_do_not_exist_are_named_but_not_all_of_them(server: Raw) -> None:
    parameters = {f"key-{number}": number for number in range(100_000)}
    server.call(1, "workflow_execute", {"workflow": {"nodes": [{"id": "echo"}]}, "parameters": parameters})
    answer = server.receive()
    assert answer["result"]["structuredContent"]["error"]["type"] == "template_error"
    assert len(orjson.dumps(answer)) < 20_000


def test_half_a_line_waits_for_its_other_half(server: Raw) -> None:
    server.write(b'{"jsonrpc":"2.0","id":1,')
    server.write(b'"method":"ping"}\n')
    assert server.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_many_messages_in_one_write_and_ids_of_both_kinds_are_told_apart(server: Raw) -> None:
    lines = [request(number, b'{"workflow":{"nodes":[{"id":"echo"}]}}') for number in (1, 2, "one", "two")]
    server.write(b"\r\n".join(lines) + b"\n")
    assert {orjson.dumps(server.receive()["id"]) for _ in lines} == {b"1", b"2", b'"one"', b'"two"'}


def test_an_id_can_be_used_again(server: Raw) -> None:
    for name in ("first", "second"):
        server.call(1, "registry_search", {"pattern": name})
        answer = server.receive()
        assert (answer["id"], name in answer["result"]["content"][0]["text"]) == (1, True)
