"""Matching values and changing test files, for any values."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pflow.core.suite.edit import add_case, replace_values
from pflow.core.suite.match import is_matcher, mismatches
from pflow.core.suite.read import parse_suite

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), max_size=12)
SCALAR = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def has_matcher(value: Any) -> bool:
    if isinstance(value, dict):
        return is_matcher(value) or any(map(has_matcher, value.values()))
    return isinstance(value, list) and any(map(has_matcher, value))


@given(VALUE, VALUE)
def test_values_match_if_and_only_if_they_are_equal(one: Any, other: Any) -> None:
    if has_matcher(one):
        return
    assert list(mismatches(one, one)) == []
    assert (next(mismatches(one, other), None) is None) == (repr(one) == repr(other) or plain(one) == plain(other))


def plain(value: Any) -> Any:
    """A value in which true is not 1."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list) else value


@given(st.lists(TEXT.filter(str.strip), min_size=1, max_size=3, unique=True), st.dictionaries(TEXT, VALUE, max_size=3))
def test_tests_that_are_added_are_read_as_they_were_given(names: list[str], outputs: dict[str, Any]) -> None:
    if has_matcher(outputs) or is_matcher(outputs):
        return
    text = ""
    for name in names:
        text = add_case(text, "w.yaml", name, {"expect": {"status": "completed", "outputs": outputs}})
    read = parse_suite(text)
    assert read.issues == ()
    assert [case.name for case in read.suite.cases] == names
    assert all(case.expected.outputs == outputs for case in read.suite.cases)


@given(VALUE, VALUE)
def test_a_value_is_replaced_and_nothing_else(before: Any, after: Any) -> None:
    text = add_case("", "w.yaml", "t", {"expect": {"outputs": {"a": before, "b": 1}}}) + "# the end\n"
    changed = replace_values(text, {("tests", "t", "expect", "outputs", "a"): after})
    assert changed.endswith("# the end\n")
    if not has_matcher(after):
        assert parse_suite(changed).suite.cases[0].expected.outputs == {"a": after, "b": 1}
