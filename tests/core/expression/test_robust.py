"""Hostile text: only our error, in time that grows with the text alone, however deep the stack already is."""

from __future__ import annotations

import sys
from random import Random
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.core.errors import ExpressionError
from pflow.core.expression.check import check
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse
from pflow.core.expression.reference import references
from tests.core.expression.generated import KINDS, TYPES, Generator, values
from tests.quick import examples

PIECES = [
    *("a", "li", "m", "1", "1.5", "'s'", "true", "null", "in", "has(", "size(", ".map(v, ", ".sortBy(k, ", ".matches("),
    *("+", "-", "*", "/", "%", "==", "!=", "<", "&&", "||", "!", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}", " "),
    *(
        "'",
        '"',
        "\\",
        "`",
        "$",
        "${",
        "}",
        "\n",
        "é",
        "\ud800",
        "\x00",
        "and",
        "not",
        "if",
        "else",
        "for",
        "=",
        "r'",
        "'''",
    ),
]


def survive(text: str) -> None:
    """Parse, check, look through and evaluate; anything but our own error is a failure."""
    try:
        expression = parse(text)
        references(expression)
        evaluate(check(expression, TYPES).expression, values(Random(1)))
    except ExpressionError as error:
        assert error.message and error.line >= 1 and error.column >= 1


@settings(max_examples=examples(1000))
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60))
def test_any_text_is_an_expression_or_our_error(text: str) -> None:
    survive(text)


@settings(max_examples=examples(300))
@given(st.randoms(use_true_random=False), st.data())
def test_an_expression_with_a_piece_changed_is_an_expression_or_our_error(random: Random, data: st.DataObject) -> None:
    text = Generator(random, wrong=0.2, own=True).text(random.choice(KINDS), 4)[:4000]
    place = data.draw(st.integers(0, len(text)))
    survive(text[:place] + data.draw(st.sampled_from(PIECES)) + text[place + data.draw(st.integers(0, 3)) :])


DEEP = {
    "parentheses": "(" * 2000 + "1" + ")" * 2000,
    "open parentheses": "(" * 4000,
    "lists": "[" * 2000 + "]" * 2000,
    "objects": "{'a':" * 800 + "1" + "}" * 800,
    "signs": "-" * 4000 + "1",
    "negations": "!" * 4000 + "true",
    "indexes": "a" + "[i]" * 1300,
    "calls": "li" + ".reverse()" * 400,
    "macros": "li.map(x, " * 350 + "1" + ")" * 350,
    "arguments": "size(" * 800 + "a" + ")" * 800,
    "mixed": "[li.map(x, (-size({'a': " * 170,
}
LONG = {
    "sum": "1" + " + 1" * 1000,
    "product": "1" + " * 1" * 1000,
    "and": "true" + " && true" * 450,
    "or": "false" + " || false" * 370,
    "choices": "false ? 1 : " * 330 + "2",
    "keys": "m" + ".n" * 2000,
    "list": "[" + "1," * 2000 + "]",
    "strings": "'a'" + " + 'a'" * 580,
}


@pytest.mark.parametrize("shape", DEEP)
def test_what_is_too_deep_is_refused(shape: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(DEEP[shape])
    assert caught.value.kind == "limit"


@pytest.mark.parametrize("shape", LONG)
def test_a_long_row_is_not_deep(shape: str) -> None:
    survive(LONG[shape])
    parse(LONG[shape])


def test_the_deepest_expression_fits_on_a_stack_that_is_half_full() -> None:
    text = "[1].map(x, " * 31 + "-(1 + 2 * (3)) < 4 && true ? [x] : [x]" + ")" * 31

    def at_depth(depth: int) -> None:
        if depth:
            at_depth(depth - 1)
        else:
            survive(text)

    at_depth(sys.getrecursionlimit() // 2 - 60)


def calls(text: str) -> int:
    """How many functions parsing calls: a measure of time that no machine changes."""
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        parse(text)
    except ExpressionError:
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "piece", ["1 + ", "a.b ", "'x' + ", "a && ", "a ? b : ", "li.map(x, x) + ", "m[i][i] + ", "[{'a': 1}] + ", "''' "]
)
def test_parsing_takes_time_that_grows_with_the_text_alone(piece: str) -> None:
    short = calls(piece * 50 + "1")
    assert calls(piece * 100 + "1") <= 2 * short + 100


def test_a_text_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse("1 + " * 100_000)
    assert (caught.value.kind, "4,096 characters" in caught.value.message) == ("limit", True)
