"""The pure parts: events cut from bytes, and what goes into headers."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.http.header import read_wait
from pflow.mcp.transport.http_header import encode_value, read_mirrored, routing_headers
from pflow.mcp.transport.sse import Events

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=20)
EVENT = st.tuples(st.lists(LINE, min_size=1, max_size=4), st.sampled_from(["", "endpoint", "message"]))
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(st.lists(EVENT, max_size=5), ENDS, st.booleans(), st.data())
def test_events_are_the_same_however_the_stream_is_cut(
    sent: list[Any], end: str, bom: bool, data: st.DataObject
) -> None:
    lines = []
    for texts, kind in sent:
        lines += [*([f"event: {kind}"] if kind else []), *(f"data: {text}" for text in texts), ": comment", ""]
    stream = b"\xef\xbb\xbf" * bom + "".join(line + end for line in lines).encode()
    events, found, rest = Events(), [], stream
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        found += events.feed(rest[:size])
        rest = rest[size:]
    assert found == [(kind or "message", "\n".join(texts).encode()) for texts, kind in sent]
    assert not events.overlong


@given(st.binary(max_size=200), st.integers(1, 200))
def test_any_bytes_are_read_without_harm(stream: bytes, size: int) -> None:
    events = Events(100)
    for start in range(0, len(stream), size):
        for kind, data in events.feed(stream[start : start + size]):
            assert isinstance(kind, str) and len(data) <= 100
    events.finish()


@pytest.mark.parametrize(
    ("stream", "last", "retry"),
    [
        (b"id: 7\nretry: 1500\ndata: x\n\n", "7", 1.5),
        (b"id: 7\ndata: x\n\nid: 8\ndata: y", "7", None),
        (b"id: 7\n\nid\n\n", "", None),
        (b"id: a\0b\n\n", "", None),
        (b"id: " + b"x" * 2000 + b"\nretry: 10x\nretry: 99999999999\n\n", "", None),
        ("id: ä\n\n".encode(), "ä", None),
    ],
)
def test_ids_and_waiting_times_are_noted(stream: bytes, last: str, retry: float | None) -> None:
    events = Events()
    events.feed(stream)
    assert (events.last_id, events.retry) == (last, retry)


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 101 + b"\n", b"data:\n" * 10, b"x" * 200, b"data: 123\n" * 40])
def test_an_event_beyond_the_limit_is_noticed(stream: bytes) -> None:
    events = Events(100)
    events.feed(stream)
    assert events.overlong
    assert events.feed(b"\ndata: late\n\n") == []


def test_data_of_just_the_limit_passes() -> None:
    assert Events(100).feed(b"data: " + b"x" * 100 + b"\n\n") == [("message", b"x" * 100)]


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("", ""),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_values_are_encoded_as_the_specification_shows(value: str, header: str) -> None:
    assert encode_value(value) == header


@given(st.text())
def test_any_value_fits_into_a_header(value: str) -> None:
    header = encode_value(value)
    assert header.isascii() and (header.isprintable() or not header) and header == header.strip()


def test_arguments_are_found_at_any_depth_and_left_out_when_missing() -> None:
    inner = {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}
    leaf = {"type": "string", "x-mcp-header": "C"}
    mirrored = read_mirrored({"properties": {"a": inner, "c": leaf, "d": {"type": "boolean", "x-mcp-header": "D"}}})
    params = {"name": "t", "arguments": {"a": {"b": -7}, "c": None, "d": False}}
    headers = routing_headers("tools/call", params, "v", mirrored)
    assert headers == {
        **{"mcp-protocol-version": "v", "mcp-method": "tools/call", "mcp-name": "t"},
        **{"mcp-param-B": "-7", "mcp-param-D": "false"},
    }
    assert routing_headers("tools/call", {"name": "t", "arguments": {"a": 5}}, "v", mirrored).keys() == {
        *("mcp-protocol-version", "mcp-method", "mcp-name"),
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "A", "type": "string"},
        {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A B"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nX: y"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 7}}},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": ["string"], "x-mcp-header": "A"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}},
        {"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}},
    ],
)
def test_a_header_where_none_may_be_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        read_mirrored(schema)


@pytest.mark.parametrize("schema", [None, True, [], {}, {"properties": 7}, {"default": {"x-mcp-header": "A"}}])
def test_a_schema_without_headers_has_none(schema: object) -> None:
    assert read_mirrored(schema) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=5),
    lambda inner: (
        st.dictionaries(st.sampled_from(["properties", "items", "anyOf", "type", "x-mcp-header"]), inner)
        | st.lists(inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_schema_is_read_or_refused(schema: object) -> None:
    try:
        assert json.dumps(sorted(read_mirrored(schema).values()))
    except ValueError:
        pass


@given(st.text(max_size=120))
def test_any_waiting_time_is_read_or_left(text: str) -> None:
    wait = read_wait(text)
    assert wait is None or 0 <= wait <= 7 * 24 * 3600
