"""Whatever a client sends, the server goes on: what comes after it is answered, with the SDK and without it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mcp_server.raw import MODERN_META, Raw
from tests.quick import examples

METHODS = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "logging/setLevel",
    "completion/complete",
    "subscriptions/listen",
    "tasks/get",
    "tasks/cancel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
]
FIELDS = [
    "_meta",
    "requestId",
    "reason",
    "progressToken",
    "progress",
    "total",
    "name",
    "arguments",
    "uri",
    "cursor",
    "level",
    "protocolVersion",
    "capabilities",
    "clientInfo",
    "taskId",
    *MODERN_META,
]
WORDS = ["", "2.0", "2026-07-28", "2025-11-25", "registry_list", "trace_read", "pflow://guide", "\x00", "é", "0"]

atoms = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=20)
)
values: st.SearchStrategy[Any] = st.recursive(
    atoms,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(), inner, max_size=4),
    max_leaves=8,
)
params = st.dictionaries(st.sampled_from(FIELDS), values, max_size=4)
messages = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | st.just("2.0") | values,
        "id": st.integers(-5, 5) | st.sampled_from(WORDS) | values,
        "method": st.sampled_from(METHODS) | values,
        "params": params | values,
        "result": values,
        "error": values,
    },
)
usual = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS), "params": params},
    optional={"id": st.integers(-5, 5) | st.sampled_from(WORDS)},
)


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """A message with some of its bytes replaced, and no end of a line in it."""
    line = bytearray(orjson.dumps(draw(usual)))
    for _ in range(draw(st.integers(1, 4))):
        line[draw(st.integers(0, len(line) - 1))] = draw(st.integers(0, 255))
    return bytes(line).replace(b"\n", b" ")


lines = (
    (messages | usual | values).map(orjson.dumps) | torn() | st.binary(max_size=60).map(lambda b: b.replace(b"\n", b""))
)


@pytest.fixture(scope="module", params=["modern", "legacy"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Raw, Any]]:
    raw = Raw(tmp_path_factory.mktemp("fuzz") / ".pflow")
    meta: dict[str, Any] = {}
    try:
        if request.param == "modern":
            meta = {"_meta": MODERN_META}
            raw.send("first", "server/discover", meta)
            assert "result" in raw.receive()
        else:
            raw.meet()
        yield raw, meta
    finally:
        raw.kill()


numbers = count()


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(lines, min_size=1, max_size=4))
def test_after_any_garbage_the_next_requests_are_answered(server: tuple[Raw, Any], sent: list[bytes]) -> None:
    raw, meta = server
    number = next(numbers)
    expected = {f"greeted {number}", f"served {number}"}
    raw.write(b"".join(line + b"\n" for line in sent))
    raw.send(f"greeted {number}", "tools/list", meta)
    raw.send(f"served {number}", "resources/templates/list", meta)
    while expected:
        answer = raw.receive()
        assert answer["jsonrpc"] == "2.0"
        if answer.get("id") in expected:
            assert "result" in answer, answer
            expected.remove(answer["id"])
