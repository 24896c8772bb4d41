"""What an expression reads, for the order of steps, and whether it asked first."""

from __future__ import annotations

import pytest

from pflow.core.expression.parser import parse
from pflow.core.expression.reference import conjuncts, references


def roots(text: str) -> list[tuple[str, tuple[str | int, ...]]]:
    return [(found.root, found.path) for found in references(parse(text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fetch.status_code >= 500", [("fetch", ("status_code",))]),
        ('steps["my-id"].x == 1', [("my-id", ("x",))]),
        ("steps.fetch", [("fetch", ())]),
        ("size(steps) > 1", [("steps", ())]),
        ("a.b[0]['c d'].e + x", [("a", ("b", 0, "c d", "e")), ("x", ())]),
        ("a.b[i].c", [("a", ("b",)), ("i", ())]),
        ("list.items.filter(i, i.n > limit)", [("list", ("items",)), ("limit", ())]),
        ("list.map(i, i.sub.map(j, i.x + j.y + k))", [("list", ()), ("k", ())]),
        ("1 + 2", []),
    ],
)
def test_paths_are_named_as_far_as_they_are_constant(text: str, found: list[tuple[str, tuple[str | int, ...]]]) -> None:
    assert roots(text) == found


@pytest.mark.parametrize(
    ("text", "tests", "guarded", "bare"),
    [
        ("has(a.b) && a.b > 1", {"a.b"}, {"a.b"}, set()),
        ("a.b > 1 && has(a.b)", {"a.b"}, {"a.b"}, set()),
        ("!has(a.b) || a.b > 1", {"a.b"}, {"a.b"}, set()),
        ("has(a.b) || a.b > 1", {"a.b"}, set(), {"a.b"}),
        ("has(a.b) ? a.c : a.d", {"a.b"}, {"a.c"}, {"a.d"}),
        ("!has(a.b) ? 0 : a.b", {"a.b"}, {"a.b"}, set()),
        ("has(a.b) && c.d ? a.b + e.f : 0", {"a.b"}, {"a.b"}, {"c.d", "e.f"}),
        ("(has(a.b) ? a.b : []) + a.c", {"a.b"}, {"a.b"}, {"a.c"}),
        ('has(steps["my-id"]) && steps["my-id"].x > 1', {'steps["my-id"]'}, {'steps["my-id"].x'}, set()),
        ("has(a.b) && c.all(i, i < a.b)", {"a.b"}, {"a.b"}, {"c"}),
    ],
)
def test_a_path_is_guarded_where_has_found_its_root(
    text: str, tests: set[str], guarded: set[str], bare: set[str]
) -> None:
    found = references(parse(text))
    assert {one.text for one in found if one.is_test} == tests
    assert {one.text for one in found if one.is_guarded} == guarded
    assert {one.text for one in found if not one.is_guarded and not one.is_test} == bare


def test_conditions_that_must_all_hold_are_told_apart() -> None:
    assert len(conjuncts(parse("a && (b && c) && (d || e)"))) == 4
    assert len(conjuncts(parse("a || b"))) == 1
