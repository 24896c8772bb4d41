"""Patterns: what Python's `re` finds, in time that grows with the text alone."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import ExpressionError
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.fault import Fault
from pflow.core.expression.parser import parse
from pflow.core.expression.regex import compiled
from pflow.core.expression.value import MOST_STEPS, Steps
from tests.quick import examples

_ATOMS = ("a", "b", ".", "[ab]", "[^a]", "\\d", "\\w", "\\s", "^", "$", "\\b", "\\B", "c", "\\.", "x", "[a-c-]", "-")
_TIMES = ("", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?")


def pattern(random: Random, depth: int = 2) -> str:
    """A random pattern that Python reads in the same way."""
    parts = []
    for _ in range(random.randrange(1, 4)):
        if depth and random.random() < 0.4:
            inner = pattern(random, depth - 1)
            parts.append(random.choice(("({})", "(?:{})", "(?i:{})", "(?s:{})", "(?m:{})")).format(inner))
            # Python's matcher would take years over some loops of loops of loops.
            parts.append(random.choice(_TIMES if "(" not in inner else ("", "", "?", "{2}")))
        else:
            atom = random.choice(_ATOMS)
            parts.append(atom + ("" if atom[-1] in "^$bB" and atom != "b" else random.choice(_TIMES)))
    text = "".join(parts)
    return f"{text}|{pattern(random, depth - 1)}" if depth and random.random() < 0.3 else text


def steps_of(text: str, subject: str) -> int:
    steps = Steps()
    compiled(text).search(subject, steps)
    return MOST_STEPS - steps.left


@settings(max_examples=examples(500))
@given(st.randoms(use_true_random=False), st.text("abcABX1_ .-\n", max_size=6))
def test_a_pattern_finds_what_python_finds(random: Random, subject: str) -> None:
    text = pattern(random)
    if not subject and "\\B" in text:
        return  # Python finds no `\B` in an empty text, RE2 does
    # Outside of (?m), `$` of Python also matches before a last line break; `\Z` does not, as RE2's `$`.
    expected = re.search(re.sub(r"(?<!\\)\$", r"(?!\\n\\Z)$", text), subject, re.ASCII) if "(?m" not in text else None
    if "(?m" in text:
        if "$" in text and subject.endswith("\n"):
            return
        expected = re.search(text, subject, re.ASCII)
    assert compiled(text).search(subject, Steps()) is (expected is not None), text


@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a|ab)*c",
        "(a*)*b",
        "(a|aa)+$",
        "((a{1,9}){1,9}){1,9}b",
        "(.*)(.*)(.*)(.*)b",
        "a?" * 30 + "a" * 30 + "b",
    ],
)
def test_no_pattern_takes_more_than_linear_time(text: str) -> None:
    short, long = steps_of(text, "a" * 1000), steps_of(text, "a" * 2000)
    assert long <= 2 * short + 100


@pytest.mark.parametrize(
    "text",
    [
        "a{1001}",
        "(a{1000}){1000}",
        "(((){1000}){1000}){1000}",
        "(" * 50 + ")" * 50,
        "(a{99}){99}",
        "[" * 900,
        "a" * 1001,
    ],
)
def test_a_pattern_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(Fault):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "[a",
        "*",
        "a**",
        "a{3,2}",
        "\\",
        "\\q",
        "(?<=a)b",
        "(?!a)",
        "\\1",
        "[z-a]",
        "[[:no:]]",
        "\\x1",
        "(?P<a",
        "(?z)",
    ],
)
def test_a_pattern_that_is_wrong_is_refused_before_the_run_with_its_place(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(f"x == 'a' && y.matches(r'''{text}''')")
    assert (caught.value.column, "character" in caught.value.message) == (23, True)


def test_a_pattern_that_is_computed_is_refused_in_the_run() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(parse("'a'.matches(x)"), {"x": "(a"})
    assert (caught.value.kind, caught.value.column) == ("value", 5)


def test_what_was_computed_before_changes_neither_result_nor_cost() -> None:
    compiled.cache_clear()
    first = steps_of("(a|b)*c$", "abab" * 50)
    assert steps_of("(a|b)*c$", "abab" * 50) == first


@settings(max_examples=examples(500))
@given(st.text("ab()[]{}*+?|\\^$.-:=!<>PisU0,9xQEdz", max_size=30))
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    try:
        compiled(text).search("ab0-)", Steps())
    except Fault as fault:
        assert fault.message
