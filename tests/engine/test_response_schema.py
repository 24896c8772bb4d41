"""The schema of an answer: a map of fields becomes JSON Schema that can be used, and JSON Schema stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.engine.model.schema import is_field_map, response_schema, with_defaults
from pflow.mcp.call.argument import SchemaCheck

VALUES: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}

names = st.text("abcdefgh_", min_size=1, max_size=8)
kinds = st.sampled_from(sorted(VALUES))
fields = st.fixed_dictionaries({"type": kinds}, optional={"description": st.text(), "required": st.booleans()})


@given(st.dictionaries(names, fields, min_size=1, max_size=5))
def test_a_map_of_fields_takes_what_its_fields_take(written: dict[str, dict[str, Any]]) -> None:
    assert is_field_map(written)
    check = SchemaCheck(response_schema(written))
    whole = {name: VALUES[field["type"]] for name, field in written.items()}
    needed = {name: value for name, value in whole.items() if written[name].get("required") is not False}
    assert check.problems(whole) == check.problems(needed) == []
    for name in needed:
        assert check.problems({key: value for key, value in whole.items() if key != name})
    assert check.problems({**whole, "another": 1})


@pytest.mark.parametrize(
    "written",
    [
        {"type": "string"},
        {"type": "object", "properties": {"a": {}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"anyOf": [{"type": "string"}]},
        {"properties": {"a": {}}, "required": ["a"]},
        {"enum": ["a", "b"]},
        {},
    ],
)
def test_json_schema_stays_as_it_is(written: dict[str, Any]) -> None:
    assert not is_field_map(written) and response_schema(written) == written


def test_a_field_can_be_called_type() -> None:
    written = {"type": {"type": "string"}, "a": {}}
    assert response_schema(written)["required"] == ["type", "a"]


def test_what_an_answer_leaves_out_has_its_default() -> None:
    written = {"a": {"type": "string"}, "b": {"type": "integer", "default": 3}}
    assert with_defaults(written, {"a": "x"}) == {"a": "x", "b": 3}
    assert with_defaults(written, {"a": "x", "b": 4}) == {"a": "x", "b": 4}
    assert with_defaults({"type": "string"}, "text") == "text"
