"""What is said of arguments before all of them are known still holds when they are."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import ServerError
from pflow.core.json_type import type_of
from pflow.core.value_type import of_schema
from pflow.mcp.call.argument import ArgumentCheck

NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = st.one_of(st.sampled_from(["x", "y", ""]), st.integers(-1, 3), st.booleans(), st.none())
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


def composed(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=3)},
        optional={
            "required": st.lists(NAMES, unique=True, max_size=2),
            "additionalProperties": st.just(False) | inner,
            "unevaluatedProperties": st.just(False),
            "dependentRequired": st.just({"a": ["b"]}),
            "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
        },
    )
    arrays = st.fixed_dictionaries(
        {"type": st.just("array"), "items": inner},
        optional={"contains": inner, "uniqueItems": st.just(True), "minItems": st.integers(0, 2)},
    )
    choices = st.tuples(st.sampled_from(["anyOf", "oneOf", "allOf"]), st.lists(inner, min_size=1, max_size=3))
    conditions = st.fixed_dictionaries({"if": inner, "then": inner, "else": inner})
    return (
        objects | arrays | choices.map(lambda pair: {pair[0]: pair[1]}) | conditions | inner.map(lambda s: {"not": s})
    )


SCHEMAS = st.recursive(
    st.one_of(
        st.sampled_from(["string", "integer", "boolean", "array", "object"]).map(lambda kind: {"type": kind}),
        st.lists(SCALARS, min_size=1, max_size=3).map(lambda values: {"enum": values}),
        SCALARS.map(lambda value: {"const": value}),
        st.just({"minimum": 1}),
        st.just({"maxLength": 0}),
    ),
    composed,
    max_leaves=8,
)
TOOLS = st.dictionaries(NAMES, SCHEMAS, min_size=1).map(lambda fields: {"type": "object", "properties": fields})


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, part in items for inner in paths_in(part, (*path, key)))]


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


@given(TOOLS, st.dictionaries(NAMES, VALUES), st.data())
def test_arguments_that_fit_have_no_problem_whatever_of_them_is_unknown(
    schema: dict[str, Any], arguments: dict[str, Any], data: st.DataObject
) -> None:
    try:
        check = ArgumentCheck(schema, server="s", tool="t")
    except ServerError:
        return
    if check.problems(arguments):
        return
    known = copy.deepcopy(arguments)
    unknown: set[tuple[str | int, ...]] = set()
    if places := paths_in(arguments)[1:]:
        place = data.draw(st.sampled_from(places))
        at(known, place[:-1])[place[-1]] = ""
        unknown.add(place)
    assert [problem for place, problem in check.problems_of_literals(known, unknown) if place] == []


@given(TOOLS, st.dictionaries(NAMES, VALUES))
def test_every_value_that_a_schema_admits_is_of_the_type_that_is_read_from_it(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    try:
        fits = not ArgumentCheck(schema, server="s", tool="t").problems(arguments)
    except ServerError:
        return
    for path in paths_in(arguments) if fits else []:
        value, kind = at(arguments, path), of_schema(schema).at(path)
        assert kind.kinds is None or value is None or type_of(value) in kind.kinds, path
        assert kind.values is None or value in kind.values
