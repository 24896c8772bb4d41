"""Lines come out whole however the bytes come in, and a broken reply is known by its id."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.mcp.protocol.json_line import MOST_BRACKETS, Lines, decode, find_reply_id

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_lines_do_not_depend_on_how_the_bytes_arrive(data: bytes, cuts: list[Any]) -> None:
    whole, places = Lines(), sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    pieces = Lines()
    got = [line for start, end in zip(places, places[1:], strict=False) for line in pieces.feed(data[start:end])]
    assert got == whole.feed(data) == data.split(b"\n")[:-1]


@pytest.mark.parametrize(
    ("chunks", "lines", "overlong"),
    [
        ([b"12345678\n"], [b"12345678"], False),
        ([b"123456789\n"], [], True),
        ([b"1\n123456789\n2\n"], [b"1"], True),
        ([b"1234", b"56789"], [], True),
        ([b"1234", b"5678", b"\n"], [b"12345678"], False),
    ],
)
def test_a_line_beyond_the_limit_ends_it(chunks: list[bytes], lines: list[Any], overlong: bool) -> None:
    cutter = Lines(8)
    assert [line for chunk in chunks for line in cutter.feed(chunk)] == lines
    assert cutter.overlong is overlong


@given(JSON)
def test_what_servers_write_is_read_back(value: object) -> None:
    assert decode(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"nope",
        b"\xff",
        b'"\\ud800"',
        b"NaN",
        b"9" * 10000,
        b"1e999",
        b"[" * 300 + b"]" * 300,
        b"[" * 5000,
        b"[" + b"[]," * MOST_BRACKETS + b"1]",
    ],
)
def test_what_is_not_json_or_could_not_be_written_again_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError):
        decode(line)


@given(st.integers(0, 10**17), st.binary(max_size=40).filter(lambda data: b"\n" not in data))
def test_the_id_of_a_broken_reply_is_found_at_its_beginning_or_end(number: int, junk: bytes) -> None:
    assert find_reply_id(b'{"jsonrpc":"2.0","id":%d,"result":' % number + junk) in (number, None)
    assert find_reply_id(b'{"jsonrpc": "2.0", "id": %d, "result": {' % number) == number
    assert find_reply_id(b'{"id":%d,"jsonrpc":"2.0","result":\xff' % number) == number
    assert find_reply_id(b'{"result":\xff,"id":%d,"jsonrpc":"2.0"}' % number) == number
    assert find_reply_id(b'{"jsonrpc":"2.0","result":\xff,"id":%d}\r' % number) == number


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"log: id 7",
        b'{"jsonrpc":"2.0","id":"7","result":',
        b'{"jsonrpc":"2.0","id":7,"method":"ping",',
        b'{"jsonrpc":"2.0","result":{"id":7,"x":',
        b'{"jsonrpc":"2.0","id":-7,"result":',
    ],
)
def test_no_id_is_read_into_other_lines(line: bytes) -> None:
    assert find_reply_id(line) is None


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"r":{' + b",".join(b'"%d":1' % key for key in range(250_001)) + b"}}", "250,000 fields"),
        (b'{"r":{' + b",".join(b'"%d" :1' % key for key in range(250_001)) + b"}}", "250,000 fields"),
        (b'{"r":[' + b",".join([b'"a"'] * 1_000_001) + b"]}", "1,000,000 texts"),
        (b'{"r":[' + b",".join([b"1"] * 3_000_002) + b"]}", "3,000,000 commas"),
        (b'{"r":[' + b",".join([b"[]"] * 250_001) + b"]}", "250,000 brackets"),
    ],
    ids=["fields", "fields with spaces", "texts", "commas", "brackets"],
)
def test_a_line_of_too_many_parts_is_not_read(line: bytes, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        decode(line)


def test_a_long_text_may_hold_anything() -> None:
    text = '"name": "value", [{}], ' * 200_000
    assert decode(orjson.dumps({"text": text.replace("[{}]", "()")})) == {"text": text.replace("[{}]", "()")}
