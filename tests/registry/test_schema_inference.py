"""What was seen becomes a schema that never denies a path that was there, whatever the values and their order."""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.interface import Field
from pflow.core.schema_path import Schema, follow
from pflow.registry.schema_inference import infer, infer_text, is_inferred, merge, trim
from tests.quick import examples

NAMES = st.sampled_from(["a", "b", "id", "name", "first-name", "0", "7", "x@y.org", "EUR", "USD", "a b", "größe", ""])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)
WIDE = st.dictionaries(
    st.sampled_from([f"field_{'abcdefghijklmnopqrstuvwxyz'[n % 26]}{'x' * (n // 26)}" for n in range(250)]),
    SCALARS,
    max_size=40,
)


def sink(value: object) -> object:
    """The value so deep inside arrays that only its top is looked at."""
    for _ in range(11):
        value = [value]
    return value


SEEN = st.one_of(VALUES, WIDE, st.lists(WIDE, max_size=3), st.lists(VALUES.map(sink), max_size=2))


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path that a template could follow into the value, written each way there is."""
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths_in(item, (*path, key))
            if key.isdecimal():
                found += paths_in(item, (*path, int(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += paths_in(item, (*path, index))
    return found


def denied(schema: Schema, value: object) -> list[tuple[str | int, ...]]:
    field = Field(name="result", schema=schema)
    return [path for path in paths_in(value) if follow(field, path) is not None]


@given(st.lists(SEEN, min_size=1, max_size=5))
def test_a_path_that_was_there_is_never_a_dead_end(values: list[object]) -> None:
    schema = infer(values[0])
    for value in values[1:]:
        schema = merge(schema, infer(value))
    assert [denied(schema, value) for value in values] == [[] for _ in values]


@given(SEEN, SEEN)
def test_the_order_of_two_values_does_not_matter(a: object, b: object) -> None:
    assert merge(infer(a), infer(b)) == merge(infer(b), infer(a))


@given(SEEN, SEEN, SEEN)
def test_the_grouping_of_values_does_not_matter(a: object, b: object, c: object) -> None:
    x, y, z = infer(a), infer(b), infer(c)
    assert merge(merge(x, y), z) == merge(x, merge(y, z))


@given(SEEN, SEEN)
def test_seeing_something_again_changes_nothing(a: object, b: object) -> None:
    x, both = infer(a), merge(infer(a), infer(b))
    assert merge(x, infer(a)) == x
    assert merge(both, x) == both == merge(both, both)


@given(SEEN, SEEN, st.integers(0, 4))
def test_a_schema_survives_its_file_and_being_cut(a: object, b: object, depth: int) -> None:
    schema = merge(infer(a), infer(b))
    cut = trim(schema, depth)
    for whole in (schema, cut):
        read = orjson.loads(orjson.dumps(whole))
        assert read == whole and is_inferred(read)
    assert denied(cut, a) == denied(cut, b) == []
    assert denied(merge(cut, schema), a) == []


def end_of(values: list[object], *path: str | int) -> Any:
    schema = infer(values[0])
    for value in values[1:]:
        schema = merge(schema, infer(value))
    return follow(Field(name="result", schema=schema), path)


def test_a_field_that_no_call_had_is_a_dead_end_with_the_fields_there_were() -> None:
    end = end_of([{"commits": [{"sha": "x", "n": 1}, {"sha": "y", "by": None}]}], "commits", 0, "shaa")
    assert (end.at, end.wanted, end.kind) == (("commits", 0), "shaa", "object")
    assert end.known == ("sha (string)", "n (integer)", "by (null)")


@pytest.mark.parametrize(
    ("values", "path"),
    [
        pytest.param([{"a": None}, {"a": {"b": 1}}], ("a", "b"), id="null-and-object"),
        pytest.param([{"a": None}], ("a", "b", 0), id="only-null"),
        pytest.param([None], ("b",), id="null-result"),
        pytest.param([{"a": []}], ("a", 0, "b"), id="empty-array"),
        pytest.param([{"a": {}}], ("a", "b"), id="empty-object"),
        pytest.param(["text", {"a": 1}], ("a",), id="text-or-object"),
        pytest.param([[1], {"a": 1}], (0,), id="array-or-object"),
        pytest.param([{"a": 1.5}, {"a": 1}, {"a": {"b": 1}}], ("a", "b"), id="number-or-object"),
    ],
)
def test_what_may_be_there_is_no_dead_end(values: list[object], path: tuple[str | int, ...]) -> None:
    assert end_of(values, *path) is None


@pytest.mark.parametrize(
    ("values", "path"),
    [
        pytest.param([{"a": "x"}], ("a", "b"), id="into-text"),
        pytest.param([{"a": 1}], ("b",), id="no-such-field"),
        pytest.param([{"a": 1}, {"c": 1}], ("b",), id="in-neither"),
        pytest.param([{"a": None}, {"a": {"b": 1}}], ("a", "c"), id="null-and-object"),
        pytest.param([{"a": 1}, {"b": 1}], (0,), id="index-into-object"),
        pytest.param([["x"]], ("a",), id="field-of-array"),
        pytest.param([{"a": True}], ("a", 0), id="index-into-boolean"),
    ],
)
def test_what_was_never_there_is_a_dead_end(values: list[object], path: tuple[str | int, ...]) -> None:
    assert end_of(values, *path) is not None


DATA = [
    "ada@example.org",
    "3f2b8c1e-9d4a-4c53-8e55-0f6a1b2c3d4e",
    "c0ffee12-aaaa-bbbb-cccc-ddddeeeeffff",
    "/home/ada/notes.txt",
    "src/main.py",
    "README.md",
    "C:\\Users\\ada",
    "2026-11-16",
    "2026-11-16T06:00:00Z",
    "16.11.2026",
    "mar-2026",
    "42",
    "-1",
    "user_12345",
    "PROJ-7",
    "cus_NffrFeUfNV2Hib",
    "AKIAIOSFODNN7EXAMPLE",
    "U024BE7LH",
    "9fceb02",
    "fceb02d0ae598e95dc970b74767f19372d61af8c",
    "example.com",
    "https://example.com/a",
    "10.0.0.1",
    "fe80::1",
    "+49 30 1234567",
    "Ada Lovelace",
    "",
    "x" * 65,
    "\ud800",
    "a\nb",
]


@pytest.mark.parametrize("key", DATA)
def test_a_key_that_is_data_is_not_kept_from_the_first_call_on(key: str) -> None:
    schema = infer({"people": {key: {"age": 1}, "name": {"age": 2}}})
    assert schema["properties"] == {"people": {"type": "object", "additionalProperties": True}}
    assert end_of([{"people": {key: 1}}], "people", "someone", "else") is None


FIELDS = ["sha", "first_name", "first-name", "firstName", "@type", "$ref", "_links", "dc:title", "#text", "größe", "x1"]
FIELDS += ["id", "url", "sha256", "address2", "i18n", "oauth2_token", "名前", "__typename", "Content-Type", "utf8"]


def test_a_key_that_is_a_name_is_kept() -> None:
    assert {name for name in FIELDS if infer({name: 1}).get("properties") != {name: {"type": "integer"}}} == set()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"USD": 1.1, "GBP": 0.9}, id="codes"),
        pytest.param({name: {"age": 1, "city": "x"} for name in "abcdefgh"}, id="objects-of-one-shape"),
        pytest.param({f"k{'x' * n}": "1" for n in range(50)}, id="fifty-texts"),
        pytest.param({f"k{'x' * (n // 26)}{chr(97 + n % 26)}": [n] if n else n for n in range(201)}, id="too-many"),
    ],
)
def test_an_object_that_looks_like_a_map_is_open_at_once(value: object) -> None:
    assert infer(value) == {"type": "object", "additionalProperties": True}


def test_keys_that_differ_from_call_to_call_are_a_map() -> None:
    def call(n: int) -> dict[str, object]:
        return {"total": 1, **{f"pkg{'x' * n}{letter}": {"v": [letter]} for letter in "abcd"}}

    schema = infer(call(0))
    assert "properties" in schema
    for n in range(1, 10):
        schema = merge(schema, infer(call(n)))
    assert schema == {"type": "object", "additionalProperties": True}


def test_many_fields_of_which_most_are_always_there_are_no_map() -> None:
    every = {f"field_{'x' * n}": n for n in range(40)}
    assert end_of([every, {**every, "more": "x"}], "filed_x") is not None


ROW = {"id": 1, "name": "x", "price": 1.5, "note": None, "active": True}


def test_a_table_of_a_few_thousand_rows_is_looked_at_whole() -> None:
    rows = [ROW] * 4_000
    assert end_of([{"rows": rows}], "rows", 0, "prize") is not None
    assert end_of([{"rows": [*rows, {"prize": 1}]}], "rows", 0, "prize") is None


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([[{"a": [n, {}], "b": {"c": n}}] for n in range(5_000)], id="nested"),
        pytest.param([ROW] * 50_000, id="rows"),
        pytest.param([{"a": "x"}] * 200_000, id="more-rows"),
        pytest.param([*[1] * 200_000, {"a": 1}], id="scalars-first"),
        pytest.param({"a": [1] * 200_000, "b": {"c": {"d": 1}}}, id="the-first-takes-all"),
    ],
)
def test_what_is_too_big_to_look_at_whole_denies_nothing_in_it(value: Any) -> None:
    assert end_of([value], *([0] if isinstance(value, list) else ["b"]), "anything", 0, "goes") is None


def test_what_is_too_deep_to_look_at_denies_nothing() -> None:
    value: object = {"end": 1}
    for _ in range(15):
        value = {"a": [value]}
    path: list[str | int] = ["a", 0] * 15
    assert end_of([value], *path, "end") is None
    assert end_of([value], *path, "other") is None
    assert end_of([value], "a", 0, "b") is not None


def test_a_part_that_was_seen_stays_known_when_a_later_one_was_too_big() -> None:
    big = infer([{"a": [n]} for n in range(10_000)])
    assert big == {"type": "array", "items": {"anyOf": [{}, infer({"a": [1]})]}}
    both = merge(infer([{"b": 1}]), big)
    items: Any = both["items"]
    assert sorted(items["anyOf"][1]["properties"]) == ["a", "b"]


@settings(max_examples=examples(30))
@given(st.recursive(SCALARS | st.integers(0, 9), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_a_file_holds_is_taken_only_in_the_form_it_was_written(value: object) -> None:
    if is_inferred(value):
        assert isinstance(value, dict)
        merge(value, infer({"a": [1]}))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": []},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": 1}, "required": []},
        {"type": "object", "properties": [], "required": []},
        {"type": "object", "properties": {"ada@example.org": {}}, "required": []},
        {"type": "object", "properties": {"a": {}}, "required": [[]]},
        {"type": "array", "items": []},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"anyOf": [{}, {}]},
        {"anyOf": [{}, {"anyOf": [{}, {"type": "string"}]}]},
    ],
)
def test_a_schema_that_was_tampered_with_is_not_taken(schema: object) -> None:
    assert not is_inferred(schema)


HELD = st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), st.integers() | st.text(max_size=3), max_size=3))


@given(st.lists(HELD, min_size=1, max_size=4), st.randoms())
def test_what_text_was_seen_to_hold_does_not_depend_on_the_order(values: list[object], random: Random) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    schema, other = (reduce(merge, map(infer_text, each)) for each in (values, shuffled))
    assert schema == other
    assert is_inferred(schema)
    assert ("x-json" in schema) == any(value is not None for value in values)
    assert is_inferred(trim(schema, 1))
