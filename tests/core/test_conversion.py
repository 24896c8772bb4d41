"""A value becomes one of another type only if nothing is lost on the way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.conversion import convert
from pflow.core.json_type import type_of

INTEGERS = st.integers(-(1 << 63), (1 << 64) - 1)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)
KINDS = st.frozensets(st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"]))
VALUES: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | st.just({})
)


@given(INTEGERS)
def test_an_integer_becomes_text_and_back(value: int) -> None:
    text = convert(value, frozenset(("string",)))
    assert text == str(value)
    assert convert(f" {text}\n", frozenset(("integer",))) == value


@given(NUMBERS)
def test_a_number_becomes_text_and_back(value: float) -> None:
    text = convert(value, frozenset(("string",)))
    assert isinstance(text, str) and convert(text, frozenset(("number",))) == value


@given(VALUES, KINDS)
def test_what_does_not_convert_is_left_as_it_is(value: object, kinds: frozenset[str]) -> None:
    found = convert(value, kinds)
    assert found is value or type_of(found) in kinds or (type_of(found) == "integer" and "number" in kinds)
    if isinstance(value, list | dict):
        assert found is value


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (True, "string", "true"),
        ("false", "boolean", False),
        ("yes", "boolean", "yes"),
        ("True", "boolean", "True"),
        (1, "boolean", 1),
        (True, "integer", True),
        (3.0, "integer", 3),
        (3.5, "integer", 3.5),
        ("3.0", "integer", "3.0"),
        ("+7", "integer", 7),
        ("007", "integer", 7),
        ("1e3", "number", 1000.0),
        ("1_000", "number", "1_000"),
        ("٣", "integer", "٣"),
        ("0x10", "integer", "0x10"),
        ("nan", "number", "nan"),
        ("1e999", "number", "1e999"),
        ("9" * 25, "integer", "9" * 25),
        (10**30, "string", 10**30),
        (None, "string", None),
        ("[1]", "array", "[1]"),
        ("{}", "object", "{}"),
        ([1], "string", [1]),
    ],
)
def test_conversions(value: object, kind: str, found: object) -> None:
    converted = convert(value, frozenset((kind,)))
    assert converted == found and type(converted) is type(found)
