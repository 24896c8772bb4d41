"""Checking before a run: types of operators and functions, unknown names and fields, comparisons that never hold."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import ExpressionError
from pflow.core.expression.check import check
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse
from pflow.core.expression.problem import Checked
from pflow.core.value_type import UNKNOWN, ValueType, of_kinds, of_schema
from tests.core.expression.generated import KINDS, TYPES, Generator, values
from tests.quick import examples

ISSUE = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "n": {"type": "integer"},
        "price": {"type": "number"},
        "state": {"enum": ["open", "closed"]},
        "by": {"type": ["object", "null"], "properties": {"name": {"type": "string"}}},
    },
}
NAMES: dict[str, ValueType] = {
    "list": of_schema(
        {"type": "object", "properties": {"items": {"type": "array", "items": ISSUE}, "count": {"type": "integer"}}}
    ),
    "issue": of_schema(ISSUE),
    "http": of_schema({"type": "object", "properties": {"response": {}, "status_code": {"type": "integer"}}}),
    "either": of_kinds("object|string"),
    "my-id": UNKNOWN,
    "any": UNKNOWN,
    "amount": of_kinds("number"),
    "count": of_kinds("integer"),
    "seen": of_schema({"type": "object", "x-seen": 3, "properties": {"a": {"type": "string"}}}),
}


def look(text: str, must_be: str = "") -> Checked:
    return check(parse(text), NAMES, must_be=must_be)


@pytest.mark.parametrize(
    "text",
    [
        "list.count > 0 && list.items.exists(i, i.state == 'open')",
        "list.items.map(i, i.title).join(', ').size() < 10",
        "has(issue.by) && issue.by != null && issue.by.name == 'x'",
        "issue.by.name == 'x'",
        "any.thing.at[0].all > 1",
        "http.response.items.size() > 0 || http.response.a + 1 == 2",
        "either.x == 1 || either.contains('a')",
        "list.items.map(i, i.price).sum() / 2 > 1",
        "list.items.sortBy(i, i.n).first().title == 'a'",
        "issue.state in ['open']",
        "issue.n == 1.5",
        "amount * count > 1 || amount == 3",
        "timestamp(issue.title) + duration('1h') > timestamp('2026-01-01T00:00:00Z')",
        "{'a': issue.n}.a > 1",
        "[1, 'a'].exists(x, x == 1)",
        "(has(any.x) ? any.x : []) + list.items == []",
    ],
)
def test_what_fits_passes_as_a_condition(text: str) -> None:
    assert look(text, must_be="boolean").problems == ()


@pytest.mark.parametrize(
    ("text", "code", "column", "message", "hint"),
    [
        ("lst.count", "unknown-name", 1, "there is no input or node `lst`", "did you mean `list`?"),
        ("my-id.x > 1", "unknown-name", 1, "there is no input or node `my`", 'write `steps["my-id"]`'),
        ("list.cuont > 1", "unknown-field", 1, "`list` has no field `cuont`", "did you mean `list.count`?"),
        ("list.items.filter(i, i.titel == '')", "unknown-field", 22, "`i` has no field `titel`", "`i.title`?"),
        ("list.items.length > 1", "unknown-field", 1, "`list.items` is an array", "write `size(list.items)`"),
        ("list.items.title == ''", "unknown-field", 1, "`list.items` is an array", "list.items.map(i, i.title)"),
        ("issue.n.x == 1", "unknown-field", 1, "`issue.n` is an integer and has no field `x`", ""),
        ("issue.n[0] == 1", "unknown-field", 1, "has no element 0", ""),
        ("list.count > '1'", "expression-type", 12, "cannot compare an integer with a string", "list.count > 1"),
        ("list.count == '1'", "expression-type", 12, "an integer never equals a string", "list.count == 1"),
        ("issue.title + 1", "expression-type", 13, "not a string and an integer", "issue.title + string(1)"),
        ("issue.title && true", "expression-type", 1, "an operand of `&&` is a boolean", "compare it"),
        ("!issue.n", "expression-type", 2, "is a boolean, not an integer", "compare it"),
        ("issue.n ? 1 : 2", "expression-type", 1, "a condition is a boolean", "compare it"),
        ("size(issue.n) > 0", "expression-type", 1, "`size` takes a string or an array or an object", ""),
        ("issue.n.trim()", "expression-type", 9, "`trim` is a function of a string, not of an integer", ""),
        ("list.items.sum()", "expression-type", 12, "in this one is an object", ""),
        ("list.items.map(i, i.n).join()", "expression-type", 24, "`join` takes a list of strings", "string(i)"),
        ("list.items.sortBy(i, i)", "expression-type", 12, "`sortBy` takes", ""),
        ("issue.n.map(i, i)", "expression-type", 9, "goes through a list", ""),
        ("'a' in issue.title", "expression-type", 5, "`in` asks a list", "contains"),
        ("1 in issue", "expression-type", 3, "the keys of an object are strings", ""),
        ("issue.price % 2", "expression-type", 13, "`%` needs two integers", ""),
        ("has(issue.n.x)", "expression-type", 5, "`has` asks for a field of an object", ""),
        ("timestamp(issue.title) > '2026'", "expression-type", 24, "a timestamp with a string", "timestamp(x)"),
        ("list.items['a']", "unknown-field", 1, "`list.items` is an array", ""),
    ],
)
def test_what_cannot_work_is_found_before_the_run(text: str, code: str, column: int, message: str, hint: str) -> None:
    [problem] = look(text).problems
    assert (problem.code, problem.line, problem.column, problem.is_warning) == (code, 1, column, False), problem
    assert message in problem.message and hint in problem.hint, problem


@pytest.mark.parametrize(
    ("text", "code", "message", "hint"),
    [
        ("issue.state == 'Open'", "never-true", "`issue.state` is never `Open`", "did you mean `open`?"),
        ("'done' != issue.state", "never-true", "`issue.state` is never `done`", "it is one of `open`, `closed`"),
        ("issue.state in ['open', 'close']", "never-true", "is never `close`", "did you mean `closed`?"),
        ("list.items.exists(issue, issue.n > 1)", "hidden-name", "hides the input or node", "another name"),
        ("issue.n in ['a']", "never-true", "an integer is never in a list where each element is a string", ""),
        ("seen.b == 1", "unknown-field", "`seen` has no field `b`", ""),
        ("seen.a > 1", "expression-type", "cannot compare a string with an integer", ""),
    ],
)
def test_what_may_be_a_mistake_is_a_warning(text: str, code: str, message: str, hint: str) -> None:
    [problem] = look(text).problems
    assert (problem.code, problem.is_warning) == (code, True)
    assert message in problem.message and hint in problem.hint, problem


def test_a_place_that_needs_a_boolean_says_so() -> None:
    [problem] = look("size(list.items)", must_be="boolean").problems
    assert problem.message == "the expression must give a boolean; it gives an integer"
    assert look("any.x", must_be="boolean").problems == ()


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("list.count + 1", {"integer"}),
        ("amount + 1", {"number"}),
        ("list.items.filter(i, i.n > 1)", {"array"}),
        ("timestamp(0)", {"string"}),
        ("true ? 1 : 'a'", {"integer", "string"}),
        ("any.x", None),
    ],
)
def test_the_type_of_the_result_is_known_to_what_reads_it(text: str, kinds: set[str] | None) -> None:
    found = look(text).type.kinds
    assert (None if found is None else set(found)) == kinds


def test_fields_of_a_result_are_known() -> None:
    found = look("list.items.map(i, {'id': i.n, 'name': i.title})").type
    assert found.elements.names == {"id", "name"}
    assert found.at((0, "id")).kinds == frozenset(("integer",))


@pytest.mark.parametrize(
    ("text", "value"),
    [("amount / 5", 2.4), ("count / 5", 2), ("count / 5 * amount", 24.0), ("[amount][0] / 5", 2.4), ("12 / 5", 2)],
)
def test_what_is_declared_as_a_number_is_divided_as_one(text: str, value: float) -> None:
    found = evaluate(look(text).expression, {"amount": 12, "count": 12}).value
    assert (found, type(found)) == (value, type(value))


def fails_by_type(random: Random, wrong: float) -> tuple[object, ...] | None:
    """An expression that passed the check and still failed because of a type."""
    text = Generator(random, wrong=wrong, own=True).text(random.choice(KINDS), 4)
    if len(text) > 4000:
        return None
    checked = check(parse(text), TYPES)
    if any(not problem.is_warning for problem in checked.problems):
        return (text, checked.problems) if not wrong else None
    try:
        evaluate(checked.expression, given := values(random))
    except ExpressionError as error:
        return (text, given, error.message) if error.kind == "type" else None
    return None


@settings(max_examples=examples(400))
@given(st.randoms(use_true_random=False))
def test_what_is_well_typed_passes_and_never_fails_by_type(random: Random) -> None:
    assert fails_by_type(random, wrong=0) is None


@settings(max_examples=examples(400))
@given(st.randoms(use_true_random=False))
def test_what_passes_never_fails_by_type(random: Random) -> None:
    assert fails_by_type(random, wrong=0.1) is None


@pytest.mark.slow
def test_many_that_pass_never_fail_by_type() -> None:
    found = (fails_by_type(Random(seed), wrong) for seed in range(20_000) for wrong in (0, 0.1))
    assert next((failure for failure in found if failure), None) is None


def test_both_ways_of_a_choice_give_the_same_type_unless_dyn_allows_it() -> None:
    [problem] = look("count > 1 ? 'many' : count").problems
    assert (problem.code, problem.message) == (
        "expression-type",
        "`? :` gives a string or an integer, depending on the condition",
    )
    for text in ("count > 1 ? 'many' : null", "count > 1 ? amount : count", "count > 1 ? dyn('many') : dyn(count)"):
        assert look(text).problems == ()
