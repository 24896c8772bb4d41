"""Evaluation: values by reference, what is absent, what was read, what it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pflow.core.errors import ExpressionError, ExpressionFault
from pflow.core.expression.evaluate import Evaluated, evaluate
from pflow.core.expression.key import Absent
from pflow.core.expression.parser import parse

SKIPPED = Absent(reason="`page` was skipped, because `list.count > 0` was false")
ISSUES = [{"n": 1, "title": "b", "open": True}, {"n": 2, "title": "a", "open": False, "by": None}]
NAMES: Mapping[str, object] = {
    "fetch": {"status_code": 200, "items": ISSUES, "odd key": 7, "ratio": 0.5},
    "page": SKIPPED,
    "steps": {"my-id": {"x": 1}, "page": SKIPPED},
}


def run(text: str, names: Mapping[str, object] = NAMES) -> Evaluated:
    return evaluate(parse(text), names)


def failure(text: str, names: Mapping[str, object] = NAMES) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        run(text, names)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fetch.status_code >= 200 && fetch.status_code < 300", True),
        ("fetch.items.filter(i, i.open).map(i, i.title)", ["b"]),
        ("fetch.items.map(i, i.open, i.n)", [1]),
        ("fetch.items.sortBy(i, i.title).map(i, i.n)", [2, 1]),
        ("fetch.items.map(i, i.n).sum()", 3),
        ("[1, 2.5].sum()", 3.5),
        ("[].sum()", 0),
        ("[3, 1, 2].min()", 1),
        ("['b', 'c', 'a'].max()", "c"),
        ("[1, 1.0, true, '1', 1, [1], [1.0]].distinct()", [1, True, "1", [1]]),
        ("[[1], [2, [3]], 4].flatten()", [1, 2, [3], 4]),
        ("[[1], [2, [3]], 4].flatten(2)", [1, 2, 3, 4]),
        ("[1, 2, 3].slice(1, 2)", [2]),
        ("[1, 2, 3].slice(1, 9)", [2, 3]),
        ("[1, 2, 3].slice(5, 9)", []),
        ("[1, 2, 3].first()", 1),
        ("[1, 2, 3].last()", 3),
        ("[1, 2, 3].first(2)", [1, 2]),
        ("[1, 2, 3].last(2)", [2, 3]),
        ("[1].last(5)", [1]),
        ("[1, 2].reverse() + [0]", [2, 1, 0]),
        ("'abc'.reverse()", "cba"),
        ("' A-b '.trim().lowerAscii().split('-').join('+')", "a+b"),
        ("'aXbX'.replace('X', 'y')", "aybyy".replace("yy", "y")),
        ("'aXbX'.replace('X', 'y', 1)", "aybX"),
        ("{'a': 1, 'b': [fetch.ratio]}", {"a": 1, "b": [0.5]}),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 / 2.0", 3.5),
        ("1 + 0.5 - 1", 0.5),
        ("1 == 1.0 && 1 < 1.5", True),
        ("1 == '1'", False),
        ("9223372036854775807 == double(9223372036854775807)", True),
        ("fetch['odd key']", 7),
        ("fetch.items[1].by == null", True),
        ("has(fetch.items) && !has(fetch.next)", True),
        ("steps['my-id'].x", 1),
        ("has(steps['my-id']) && !has(steps.page)", True),
        ("has(page.x) || has(page.x.y.z)", False),
        ("has(page.next) ? page.next : 'none'", "none"),
        ("size(steps.map(id, id))", 1),
        ("'page' in steps", False),
        ("page.x == 1 && false", False),
        ("page.x == 1 || true", True),
        ("[1, 2].exists(i, 2 / (i - 1) == 2)", True),
        ("timestamp('2026-11-16T09:30:00Z') + duration('36h')", "2026-11-17T21:30:00Z"),
        ("[timestamp('2026-11-16T09:30:00+02:00')]", ["2026-11-16T07:30:00Z"]),
        ("timestamp('2026-11-16T09:30:00Z') - timestamp('2026-11-16T08:00:00Z')", "5400s"),
        ("timestamp('2026-07-01T00:00:00Z').getHours('+05:30')", 5),
        ("timestamp('2026-11-16T09:30:00Z').getDayOfWeek()", 1),
        ("string(1234567.5) + string(2.0) + string(true) + string(duration('90m'))", "1234567.52true5400s"),
        (
            "[1e22, 1e21, 123456.75, 0.00001, 1e-7, 100.0].map(x, string(x)).join(' ')",
            "1e+22 1e+21 123456.75 0.00001 1e-07 100",
        ),
        ("'Grüße'.size()", 5),
        ("r'a\\d'.matches(r'^a\\\\d$')", True),
    ],
)
def test_an_expression_gives_its_value(text: str, value: object) -> None:
    found = run(text).value
    assert found == value and type(found) is type(value)


def test_a_value_is_given_by_reference() -> None:
    assert run("fetch.items").value is ISSUES
    found = run("fetch.items.filter(i, i.open)").value
    assert isinstance(found, list) and found[0] is ISSUES[0]


@pytest.mark.parametrize(
    ("text", "kind", "column", "message", "hint"),
    [
        ("page.x", "absent", 1, "`page.x` is absent: `page` was skipped", "`has(page.x) ? page.x : …`"),
        ("1 + steps.page.x", "absent", 5, "`steps.page.x` is absent: `page` was skipped", "has(steps.page.x)"),
        ("page", "absent", 1, "`page` is absent", "has(steps.page)"),
        ("fetch.next != null", "absent", 1, "`fetch` has no `next`", "`has(fetch.next) && fetch.next != null`"),
        ("fetch.statuscode", "absent", 1, "`fetch` has no `statuscode`", "did you mean `fetch.status_code`?"),
        ("feth.x", "absent", 1, "there is no `feth` here", "did you mean `fetch`?"),
        ("fetch.items.length", "type", 1, "`fetch.items` is an array", "write `size(fetch.items)`"),
        ("fetch.items.title", "type", 1, "`fetch.items` is an array", "`fetch.items.map(i, i.title)`"),
        ("fetch.items[1].by.name", "type", 1, "`fetch.items[1].by` is null", "`fetch.items[1].by != null && …`"),
        ("fetch.items[2]", "value", 1, "`fetch.items` has 2 elements", "size(fetch.items) > 2"),
        ("fetch.items[-1]", "value", 12, "there is no element -1", "`x.last()`"),
        ("[].first()", "value", 4, "`first` of an empty list", "size(x) > 0"),
        ("fetch.items.sum()", "type", 13, "in this one is an object", "x.map(i, i.price).sum()"),
        ("1 / 0", "value", 3, "`/` by zero", "y != 0"),
        ("9223372036854775807 + 1", "value", 21, "64-bit integers", "double(x)"),
        ("-9223372036854775808 % -1", "value", 22, "64-bit integers", ""),
        ("fetch.items.map(i, i.n)[0] + 'a'", "type", 28, "not an integer and a string", "string(x)"),
        ("fetch.status_code > '100'", "type", 19, "not an integer and a string", "int(x)"),
        ("fetch.status_code && true", "type", 1, "an operand of `&&` is a boolean", "compare it"),
        ("'a' in 'abc'", "type", 5, "`in` asks a list or an object", "x.contains('part')"),
        ("int('1.5')", "value", 1, "not a whole number", "double(x)"),
        ("duration('1d')", "value", 1, "not a duration", "a day is `24h`"),
        ("timestamp('yesterday')", "value", 1, "not a timestamp", "2026-11-16T09:30:00Z"),
        ("timestamp(0).getHours('Moon/Base')", "value", 14, "`Moon/Base` is not a time zone", "Europe/Berlin"),
        ("1.0 / 0.0", "value", 1, "JSON cannot hold", "divisor"),
        ("{'a' + 'b': 1, 'ab': 2}", "value", 16, "twice", ""),
        ("[1, 'a'].sortBy(i, i)", "type", 10, "an integer and a string", ""),
        ("['a', 1].join()", "type", 10, "`join` takes a list of strings", "string(i)"),
    ],
)
def test_a_failure_says_what_is_wrong_where_and_what_to_do(
    text: str, kind: ExpressionFault, column: int, message: str, hint: str
) -> None:
    error = failure(text)
    assert (error.kind, error.column) == (kind, column), error.message
    assert message in error.message
    assert not hint or any(hint in one for one in error.suggestions), error.suggestions
    assert error.action == "error"


def test_what_was_read_is_recorded_path_by_path() -> None:
    found = run("fetch.status_code == 200 && fetch.items[0].open && !has(fetch.next) && (page.x == 1 || true)")
    assert found.reads == {"fetch.status_code": 200, "fetch.items[0].open": True, "has(fetch.next)": False}
    assert found.absent == {"page.x"}


def test_what_is_not_needed_is_not_read() -> None:
    assert run("true || fetch.ratio > 1").reads == {}
    assert run("fetch.status_code == 200 ? 1 : fetch.ratio").reads == {"fetch.status_code": 200}


def test_variables_of_macros_are_not_reads() -> None:
    found = run("fetch.items.filter(i, i.n > fetch.ratio)")
    assert set(found.reads) == {"fetch.items", "fetch.ratio"}


def test_a_variable_hides_a_name_only_inside_its_macro() -> None:
    assert run("[1].map(fetch, [2].map(fetch, fetch)[0] + fetch)[0] + fetch.status_code").value == 203


@pytest.mark.parametrize(
    "text",
    [
        "x.all(a, x.all(b, a == b || true))",
        "x.map(a, s + s)",
        "x.all(a, s <= s)",
        "x.map(a, s.replace('a', s))",
        "x.exists(a, s.matches('(a|a)*b'))",
        "x.map(a, x.distinct())",
        "x.sortBy(a, x == x)",
        "x.all(a, x.all(b, x.all(c, true))) || true",
        "deep.map(a, deep == deep)",
    ],
)
def test_what_would_take_too_long_ends_at_the_limit(text: str) -> None:
    names: dict[str, object] = {"x": list(range(3000)), "s": "a" * 100_000, "deep": [[[0] * 100] * 100] * 100}
    error = failure(text, names)
    assert (error.kind, "1,000,000 steps" in error.message) == ("limit", True)


def test_values_as_deep_as_they_come_are_compared_and_written() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    names = {"x": deep, "y": [deep]}
    assert run("x == x", names).value is True
    assert run("x == y", names).value is False
    assert run("[timestamp(0), x].size() == 2", names).value is True
    found = run("[timestamp(0), x]", names).value
    assert isinstance(found, list) and found[0] == "1970-01-01T00:00:00Z"
    while deep:  # undo it piece by piece: freeing such a list at once is as deep
        deep = deep.pop()


def test_no_value_is_shown_in_a_message() -> None:
    names = {"token": "s3cret-value", "list": ["s3cret-value"]}
    for text in ("int(token)", "timestamp(token)", "token + 1", "list.sum()", "token.x", "token > 1", "bool(token)"):
        error = failure(text, names)
        assert "s3cret" not in error.message + "".join(error.suggestions)


def test_a_duration_of_endless_parts_is_refused() -> None:
    assert failure("duration(s)", {"s": "1s" * 1000}).kind == "value"
