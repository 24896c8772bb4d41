"""The three wires: what goes out, and what every form of answer means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pflow.core.errors import ModelError
from pflow.engine.model.llm import Image, Usage
from tests.adapters.model.asking import KEY, Asking
from tests.adapters.model.provider_server import Json, provider, saying, saying_whole

WIRES = ("chat", "responses", "messages")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
USAGE = Usage(input=11, output=7, cached=3)


@pytest.mark.parametrize("wire", WIRES)
def test_a_stream_becomes_the_text_with_its_usage(home: Path, wire: str) -> None:
    with provider(saying(wire, "héllo there")) as server:
        answer = Asking(home, server.url, wire).ask()
    assert (answer.text, answer.value, answer.model) == ("héllo there", "héllo there", "served")
    assert (answer.usage, answer.cost, answer.notes) == (USAGE, None, ())


@pytest.mark.parametrize("wire", WIRES)
def test_a_server_that_does_not_stream_is_understood(home: Path, wire: str) -> None:
    with provider(saying_whole(wire, "hello")) as server:
        answer = Asking(home, server.url, wire).ask()
    assert (answer.text, answer.usage.input, answer.usage.output) == ("hello", 11, 7)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("stop", ["cut", "refused"])
def test_an_answer_that_is_cut_or_refused_is_an_error_of_its_own(home: Path, wire: str, stop: str) -> None:
    with provider(saying(wire, "I cannot", stop=stop)) as server:
        with pytest.raises(ModelError) as caught:
            Asking(home, server.url, wire).ask(max_tokens=5)
    assert caught.value.action == stop
    assert caught.value.details["answer"] == "I cannot"
    assert caught.value.tokens == 18
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("wire", "path", "system", "limit"),
    [
        ("chat", "/v1/chat/completions", None, "max_tokens"),
        ("responses", "/v1/responses", "instructions", "max_output_tokens"),
        ("messages", "/v1/messages", "system", "max_tokens"),
    ],
)
def test_a_request_says_everything_that_was_asked(
    home: Path, wire: str, path: str, system: str | None, limit: str
) -> None:
    with provider(saying(wire, "x")) as server:
        Asking(home, server.url, wire).ask(
            "q",
            system="be brief",
            temperature=0.5,
            max_tokens=9,
            options={"top_k": 3, "stream": False, "model": "other"},
        )
    [asked] = server.asked
    assert asked.path == path
    assert (asked.body["model"], asked.body["stream"], asked.body["top_k"]) == ("some-model", True, 3)
    assert (asked.body["temperature"], asked.body[limit]) == (0.5, 9)
    if system is None:
        assert asked.body["messages"] == [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "q"},
        ]
    else:
        assert asked.body[system] == "be brief"
    assert asked.body.get("store", False) is False
    assert KEY in (asked.headers.get("authorization") or asked.headers["x-api-key"])


@pytest.mark.parametrize("wire", WIRES)
def test_images_go_along_as_data(home: Path, wire: str) -> None:
    with provider(saying(wire, "x")) as server:
        Asking(home, server.url, wire).ask("q", images=(Image(media_type="image/png", data=b"\x89PNG"),))
    content = (server.asked[0].body.get("messages") or server.asked[0].body["input"])[-1]["content"]
    assert "iVBORw==" in str(content)
    assert any(part.get("text") == "q" for part in content)


def sent_form(wire: str, body: Json) -> tuple[str, object]:
    """The level that a request is at, and the schema in it."""
    if body.get("tools"):
        [tool] = body["tools"]
        function = tool.get("function", tool)
        return "tool", function.get("parameters") or function["input_schema"]
    if wire == "chat" and "response_format" in body:
        form = body["response_format"]["json_schema"]
    elif wire == "responses" and "text" in body:
        form = body["text"]["format"]
    elif wire == "messages" and "output_config" in body:
        return "strict", body["output_config"]["format"]["schema"]
    else:
        return "prompt", None
    return "strict" if form.get("strict") else "native", form["schema"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_schema_whose_fields_are_all_required_is_sent_closed(home: Path, wire: str) -> None:
    with provider(saying(wire, '{"n": 3}')) as server:
        told = Asking(home, server.url, wire).tell(schema=SCHEMA)
    assert told.completion.value == {"n": 3}
    assert (told.level, sent_form(wire, server.asked[0].body)) == (
        "strict",
        ("strict", {**SCHEMA, "additionalProperties": False}),
    )


def test_a_schema_with_optional_fields_keeps_them(home: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    with provider(saying("chat", "{}")) as server:
        told = Asking(home, server.url).tell(schema=schema)
    assert (told.completion.value, told.level) == ({}, "native")
    assert sent_form("chat", server.asked[0].body) == ("native", schema)


@pytest.mark.parametrize("wire", WIRES)
def test_a_tool_call_is_the_answer(home: Path, wire: str) -> None:
    with provider(saying(wire, '{"n": 3}', tool=True)) as server:
        asking = Asking(home, server.url, wire)
        asking.memory.keep(server.url, "some-model", "tool")
        told = asking.tell(schema=SCHEMA)
    assert (told.completion.value, told.level) == ({"n": 3}, "tool")
    assert sent_form(wire, server.asked[0].body) == ("tool", SCHEMA)


def test_what_is_not_an_object_travels_inside_of_one(home: Path) -> None:
    schema = {"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}
    with provider(saying("chat", '{"value": [1, 2]}')) as server:
        answer = Asking(home, server.url).ask(schema=schema)
    assert answer.value == [1, 2]
    _, sent = sent_form("chat", server.asked[0].body)
    assert isinstance(sent, dict)
    assert (sent["type"], sent["required"], sent["$defs"]) == ("object", ["value"], schema["$defs"])
