"""Every question becomes a form that the protocol allows, and what is filled in becomes the answer that was meant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import _v2025_11_25 as handshake
from mcp_types import _v2026_07_28 as stateless
from pydantic import TypeAdapter

from pflow.engine.asking.form import read_reply
from pflow.mcp_server.asking.elicitation_form import Filled, fits_form, message_of, read_filled, reply_of, schema_of
from pflow.workspace.asking.question import Reply, Waiting

PROTOCOLS = ("2025-06-18", "2025-11-25", "2026-07-28")
DEFINITIONS: dict[str, Any] = {
    "2025-11-25": TypeAdapter(handshake.PrimitiveSchemaDefinition),
    "2026-07-28": TypeAdapter(stateless.PrimitiveSchemaDefinition),
}
FIRST_KEYWORDS = {
    "string": {"type", "title", "description", "minLength", "maxLength", "format", "enum", "enumNames"},
    "integer": {"type", "title", "description", "minimum", "maximum"},
    "number": {"type", "title", "description", "minimum", "maximum"},
    "boolean": {"type", "title", "description", "default"},
}
"""What the schemas of 2025-06-18 know, by type."""

words = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_categories=["C"]), min_size=1, max_size=12)
about = st.fixed_dictionaries({}, optional={"title": words, "description": words})


class Asked:
    """A field, the value that somebody means, and what they fill in for it."""

    def __init__(self, schema: dict[str, Any], value: object, content: object) -> None:
        self.schema = schema
        self.value = value
        self.content = content


def as_word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@st.composite
def plain_fields(draw: st.DrawFn) -> Asked:
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean"]))
    schema: dict[str, Any] = {"type": kind, **draw(about)}
    value: Any
    if kind == "string":
        value = draw(st.text(max_size=20))
        if draw(st.booleans()):
            schema |= {"minLength": 0, "maxLength": 20}
    elif kind == "boolean":
        value = draw(st.booleans())
    else:
        value = draw(st.integers(-1000, 1000))
        if draw(st.booleans()):
            schema |= {"minimum": -1000, "maximum": 1000}
    if draw(st.booleans()):
        schema["default"] = value
    elif draw(st.booleans()):
        schema["required"] = False
    # JavaScript has one kind of number.
    return Asked(schema, value, float(value) if kind == "integer" and draw(st.booleans()) else value)


@st.composite
def chosen_fields(draw: st.DrawFn) -> Asked:
    kind = draw(st.sampled_from(["string", "integer"]))
    options: list[Any] = draw(
        st.lists(words if kind == "string" else st.integers(0, 99), min_size=1, max_size=5, unique=True)
    )
    listed: dict[str, Any] = {"enum": options}
    if draw(st.booleans()):
        listed = {"oneOf": [{"const": one, "title": draw(words)} for one in options]}
    if draw(st.booleans()):
        several = draw(st.lists(st.sampled_from(options), unique=True, max_size=3))
        items = {"anyOf": listed["oneOf"]} if "oneOf" in listed else listed
        schema = {"type": "array", "items": {"type": kind, **items}, **draw(about)}
        return Asked(schema, several, [as_word(one) for one in several])
    value = draw(st.sampled_from(options))
    schema = {"type": kind, **listed, **draw(about)}
    if draw(st.booleans()):
        schema["default"] = value
    return Asked(schema, value, as_word(value))


fields = st.dictionaries(st.one_of(words, st.just("choice")), st.one_of(plain_fields(), chosen_fields()), max_size=4)
choices = st.lists(words, max_size=4, unique_by=str.lower)


def question(choices: list[str], asked: dict[str, Asked]) -> Waiting:
    schemas = {name: one.schema for name, one in asked.items()}
    return Waiting(
        run_id="run", place="ask", kind="question", key="k", prompt="?", choices=tuple(choices), fields=schemas
    )


def as_form(waiting: Waiting) -> dict[str, object]:
    return {"choices": list(waiting.choices), "fields": waiting.fields}


@given(choices, fields, st.sampled_from(PROTOCOLS), st.data())
def test_what_is_filled_in_is_the_answer_that_was_meant(
    choices: list[str], asked: dict[str, Asked], protocol: str, data: st.DataObject
) -> None:
    waiting = question(choices, asked)
    properties: Any = schema_of(waiting, protocol)["properties"]
    content = {name: one.content for name, one in asked.items()}
    assert list(properties)[len(properties) - len(asked) :] == list(asked)
    choice = data.draw(st.sampled_from(choices)) if choices else None
    if choices:
        [name] = set(properties) - set(asked)
        content[name] = choice
    found = read_reply(as_form(waiting), reply_of(waiting, content))
    meant = read_reply(as_form(waiting), Reply(choice=choice, fields={name: one.value for name, one in asked.items()}))
    assert found == meant


@given(choices, fields, st.sampled_from(PROTOCOLS))
def test_what_may_be_left_out_is_not_required(choices: list[str], asked: dict[str, Asked], protocol: str) -> None:
    waiting = question(choices, asked)
    schema: Any = schema_of(waiting, protocol)
    content: dict[str, object] = {
        name: one.content for name, one in asked.items() if name in schema.get("required", ())
    }
    for name in set(schema["properties"]) - set(asked):
        content[name] = choices[0]
    read_reply(as_form(waiting), reply_of(waiting, content))


@given(choices, fields, st.sampled_from(PROTOCOLS))
def test_a_form_has_nothing_that_the_revision_does_not_know(
    choices: list[str], asked: dict[str, Asked], protocol: str
) -> None:
    waiting = question(choices, asked)
    if not fits_form(waiting, protocol):
        assert protocol == "2025-06-18"
        assert any(one.schema["type"] == "array" for one in asked.values())
        return
    properties: Any = schema_of(waiting, protocol)["properties"]
    for field in properties.values():
        if protocol in DEFINITIONS:
            read = DEFINITIONS[protocol].validate_python(field)
            assert read.model_dump(by_alias=True, exclude_unset=True, mode="json") == field
        else:
            assert set(field) <= FIRST_KEYWORDS[field["type"]]
            assert len(field.get("enumNames", field.get("enum", ()))) == len(field.get("enum", ()))


@pytest.mark.parametrize(
    ("response", "form"),
    [
        ({"action": "accept", "content": {"a": 1}}, Filled(content={"a": 1})),
        ({"action": "accept"}, Filled()),
        ({"action": "decline", "content": None}, Filled(declined=True)),
        ({"action": "cancel"}, None),
        ({"action": "cancel", "content": {"choice": "yes"}}, None),
        ({"action": None}, None),
        ({}, None),
    ],
)
def test_only_who_accepts_or_declines_decides(response: dict[str, object], form: Filled | None) -> None:
    assert read_filled(response) == form


def test_a_long_text_is_shown_in_short_and_controls_are_not_shown() -> None:
    show: dict[str, object] = {"text": "x" * 5_000, "sneaky": "a\x1b[31m\u202eb", "data": {"b": [1]}}
    message = message_of(Waiting(run_id="r-1", place="ask[3]", kind="question", key="k", prompt="Go?", show=show))
    lines = message.splitlines()
    assert lines[0] == "Go?"
    assert lines[2].startswith("text: xxx")
    assert len(lines[2]) == 2_000
    assert "sneaky: a[31mb" in lines
    assert message.endswith("(shortened; `pflow runs show r-1` shows all of it)\n\nrun r-1, step ask[3]")
