"""How values that are set one after the other join: whatever is grouped together, the same comes out."""

from __future__ import annotations

from functools import reduce
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.document.document import StateKey
from pflow.core.document.state_key import MOST_BYTES
from pflow.engine.keeping.merge import join, join_sets

ADD, MAX = StateKey(type="integer", merge="add"), StateKey(type="integer", merge="max")
PLAIN = StateKey(type="any")

INTEGERS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=8)
ELEMENTS = st.one_of(st.integers(0, 5), st.booleans(), st.sampled_from(["a", "b"]), st.just({"x": 1}), st.just([1]))
LISTS = st.lists(st.lists(ELEMENTS, max_size=6), min_size=1, max_size=6)
OBJECTS = st.lists(st.dictionaries(st.sampled_from("abcdef"), ELEMENTS), min_size=1, max_size=6)
KEEP = st.integers(1, 8)


def union(keep: int = 2000) -> StateKey:
    return StateKey(type="array", merge="union", keep=keep)


def joined(key: StateKey, values: list[Any], before: object = None) -> Any:
    return reduce(lambda earlier, later: join(key, earlier, later), values, before)


@given(values=INTEGERS, before=st.none() | st.integers())
def test_sums_and_maxima_are_those_of_python(values: list[int], before: int | None) -> None:
    given_before = [] if before is None else [before]
    assert joined(ADD, values, before) == sum([*given_before, *values])
    assert joined(MAX, values, before) == max([*given_before, *values])
    assert joined(PLAIN, values, before) == values[-1]


@given(values=LISTS, keep=KEEP)
def test_a_union_has_the_newest_elements_each_once(values: list[list[Any]], keep: int) -> None:
    found = joined(union(keep), values)
    marks = [orjson.dumps(one) for one in found]
    newest = list(dict.fromkeys(orjson.dumps(one) for value in reversed(values) for one in reversed(value)))
    assert marks == newest[:keep][::-1]


@given(values=OBJECTS, keep=KEEP)
def test_a_union_of_objects_has_the_last_value_of_the_newest_keys(values: list[dict[str, Any]], keep: int) -> None:
    found = joined(union(keep), values)
    everything = reduce(lambda one, other: one | other, values)
    assert len(found) == min(keep, len(everything))
    assert found == {name: everything[name] for name in found}


@given(values=st.one_of(INTEGERS, LISTS, OBJECTS), cut=st.integers(0, 8), before=st.booleans())
def test_what_a_run_joins_first_joins_to_the_same(values: list[Any], cut: int, before: bool) -> None:
    """A run joins what it sets, and only then that with what is kept by then."""
    for key in (ADD, MAX) if isinstance(values[0], int) else (union(3), union()):
        kept = values[0] if before else None
        first, second = values[:cut], values[cut:]
        grouped = [joined(key, part) for part in (first, second) if part]
        assert joined(key, grouped, kept) == joined(key, values, kept)


@pytest.mark.parametrize("size", [10, 1000, 60_000])
def test_a_union_always_fits_into_one_value(size: int) -> None:
    key = union(100_000)
    found: Any = None
    for start in range(0, 200_000 // size + 1, max(1, 20_000 // size)):
        batch = [f"{number:0{size}}" for number in range(start, start + max(1, 20_000 // size))]
        found = join(key, found, batch)
        assert len(orjson.dumps(found)) <= MOST_BYTES
        assert found[-1] == batch[-1]
    named = join(key, None, {f"{number}": "x" * size for number in range(60_000 // size)})
    assert len(orjson.dumps(named)) <= MOST_BYTES


def test_what_was_set_joins_by_scope_and_name() -> None:
    keys = {"a": {"n": ADD, "x": PLAIN}, "b": {"n": MAX}}
    first: dict[str, dict[str, object]] = {"a": {"n": 1, "x": "old"}}
    second: dict[str, dict[str, object]] = {"a": {"x": "new", "n": 2}, "b": {"n": 5}}
    assert join_sets(keys, {}, first) == first
    assert join_sets(keys, join_sets(keys, first, second), {"b": {"n": 3}}) == {
        "a": {"n": 3, "x": "new"},
        "b": {"n": 5},
    }
