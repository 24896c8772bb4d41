"""The paths one can refer to, from a schema or from a value; a schema of someone else's making ends, too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.interface import Field
from pflow.core.schema_path import DeadEnd, follow, kind_of, paths, paths_of
from pflow.core.template.compiled import Reference, descend
from pflow.core.template.template import references_of
from pflow.registry.schema_inference import infer

VALUE = {"commits": [{"sha": "a", "n": 1.5, "by": None}, {"late": True}], "by day": {"2026-11-16": []}, "ok": True}


def test_the_paths_of_a_value_are_those_of_this_very_value() -> None:
    assert paths_of(VALUE) == [
        "result  object",
        "result.commits  array of 2",
        "result.commits[0]  object",
        "result.commits[0].sha  string",
        "result.commits[0].n  number",
        "result.commits[0].by  null",
        'result["by day"]  object',
        'result["by day"].2026-11-16  array of 0',
        "result.ok  boolean",
    ]
    assert paths_of("text", "page") == ["page  string"]


def test_the_paths_of_a_schema_say_what_may_be_there() -> None:
    assert paths(infer({"commits": [{"sha": "a"}, {"late": True, "sha": None}], "rates": {"EUR": 1}, "e": []})) == [
        "result  object",
        "result.commits  array",
        "result.commits[0]  object",
        "result.commits[0].sha  string|null",
        "result.commits[0].late  boolean",
        "result.rates  object (any keys)",
        "result.e  array",
    ]


def test_the_paths_of_what_was_seen_in_part_are_those_that_were_seen() -> None:
    assert paths(infer([{"a": [n]} for n in range(10_000)]))[:3] == [
        "result  array",
        "result[0]  object",
        "result[0].a  array",
    ]


def test_a_key_that_is_no_text_is_shown_all_the_same() -> None:
    assert paths_of({"\ud800": 1}) == ["result  object", 'result["?"]  integer']


def test_references_and_choices_of_a_declared_schema_are_followed() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"user": {"anyOf": [{"$ref": "#/$defs/User"}, {"type": "null"}]}},
        "$defs": {"User": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    assert paths(schema) == ["result  object", "result.user  object|null", "result.user.name  string"]


def test_a_long_list_is_cut() -> None:
    found = paths_of({f"k{n}": n for n in range(1_000)})
    assert len(found) == 201 and found[-1] == "…"
    assert len(paths(infer({"a" * (n + 1): {"b": n, "c": [n]} for n in range(60)} | {"z": 1}))) <= 201


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
        max_leaves=12,
    )
)
def test_every_path_of_a_value_can_be_written_in_a_template(value: object) -> None:
    for line in paths_of(value):
        if line == "…":
            continue
        path, _, kind = line.rpartition("  ")
        [reference] = references_of(f"${{{path}}}")
        found = descend(value, reference)
        assert kind.split(" ")[0] == kind_of(infer(found)) or "anyOf" in infer(found)


ITSELF: list[dict[str, Any]] = [
    {"$ref": "#"},
    {"anyOf": [{"$ref": "#"}]},
    {"anyOf": [{"$ref": "#"}] * 50},
    {"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}] * 10}}, "oneOf": [{"$ref": "#"}] * 10},
    {"type": "array", "items": {"$ref": "#"}},
]


@pytest.mark.parametrize("schema", ITSELF)
def test_a_schema_that_contains_itself_ends(schema: dict[str, Any]) -> None:
    assert len(paths(schema)) <= 201
    assert follow(Field(name="result", schema=schema), ["a", 0] * 20) == (
        None if schema.get("type") != "array" else DeadEnd(at=(), wanted="a", kind="array")
    )
    assert kind_of(schema, schema) in ("any", "object", "array")


def test_an_index_into_an_object_is_its_field_of_that_name() -> None:
    schema = {"type": "object", "properties": {"0": {"type": "string"}}}
    field = Field(name="result", schema=schema)
    reference = Reference("result", (0,), None, "${result[0]}", 0)
    assert descend({"0": "x"}, reference) == "x"
    assert follow(field, [0]) is None
    assert follow(field, [1]) is not None
