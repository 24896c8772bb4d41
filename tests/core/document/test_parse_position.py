"""Paths can be shown and read back, and lead to the line and column of what they name."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.document.json_text import scan_json
from pflow.core.document.parse import parse_text
from pflow.core.document.position import Places, Spot, read_path, show_path

TEXT = """{
  "nodes": [
    {"id": "a", "params": {"a b": [1, {"ü\\u0041": "x"}]}}
  ],
  "name": "n"
}"""


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ((), ""),
        (("nodes", 2, "params", "url"), "nodes[2].params.url"),
        (("params", "a b"), 'params["a b"]'),
        (("a.b", "0", 0), '["a.b"]["0"][0]'),
        (("x", 'say "hi"', ""), 'x["say \\"hi\\""][""]'),
    ],
)
def test_a_path_is_shown_readably(path: tuple[Any, ...], shown: str) -> None:
    assert show_path(path) == shown


@given(st.lists(st.text(max_size=20) | st.integers(0, 10**6)))
def test_a_shown_path_reads_back(path: list[Any]) -> None:
    assert read_path(show_path(path)) == tuple(path)


@given(st.text())
def test_any_text_is_a_path_or_none(text: str) -> None:
    path = read_path(text)
    assert path is None or isinstance(path, tuple)


def test_a_very_long_key_is_cut_in_the_shown_path() -> None:
    assert len(show_path(["x" * 100_000])) < 200


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        ((), (1, 1), (1, 1)),
        (("nodes",), (2, 12), (2, 3)),
        (("nodes", 0), (3, 5), (3, 5)),
        (("nodes", 0, "id"), (3, 12), (3, 6)),
        (("nodes", 0, "params", "a b"), (3, 35), (3, 28)),
        (("nodes", 0, "params", "a b", 1, "üA"), (3, 51), (3, 40)),
        (("name",), (5, 11), (5, 3)),
        (("nodes", 0, "missing", "more"), (3, 5), (3, 5)),
        (("nodes", 7), (2, 12), (2, 12)),
        (("nowhere",), (1, 1), (1, 1)),
    ],
)
@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_path_leads_to_its_value_its_key_or_what_is_around_it(
    path: tuple[str | int, ...], value: tuple[int, int], key: tuple[int, int], suffix: str
) -> None:
    places = parse_text(TEXT, suffix=suffix).places
    assert places.find(path) == value
    assert places.find(path, key=True) == key


def test_without_text_there_are_no_lines() -> None:
    assert Places().find(("a",)) == (0, 0)
    assert Places().line(1) == ""


def test_nothing_is_scanned_before_a_place_is_asked_for() -> None:
    scanned = []

    def scan(text: str) -> Spot:
        scanned.append(text)
        return scan_json(text)

    places = Places(TEXT, scan)
    assert places.line(2) == '  "nodes": ['
    assert scanned == []
    places.issue("x", "y", ("name",))
    places.issue("x", "y", ("nodes",))
    assert scanned == [TEXT]


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
VALUES = st.recursive(
    st.integers(0, 9) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


@given(VALUES, st.booleans())
def test_at_the_place_of_a_value_stands_its_text(value: object, spread: bool) -> None:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if spread else 0).decode()
    places = Places(text, scan_json)
    for path, leaf in leaves(value):
        line, column = places.find(path)
        assert places.line(line)[column - 1 :].startswith(orjson.dumps(leaf).decode())
