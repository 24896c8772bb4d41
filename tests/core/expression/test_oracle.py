"""Random expressions give what Google's CEL gives: the same value, or an error where it has one."""

from __future__ import annotations

import importlib
import math
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dev_needs
from pflow.core.errors import ExpressionError
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse
from tests.core.expression.generated import KINDS, Generator, values
from tests.quick import examples

pytestmark = pytest.mark.needs("cel")

Outcome = tuple[str, object]
MIXED = ("(int64, double)", "(double, int64)")
"""Arithmetic between the two, which CEL refuses and pflow allows."""

BOOLEAN = "`int` takes a string or an integer or a number or a timestamp, not a boolean"
"""What the specification of CEL does not have either, but its implementation in C++ does."""


@cache
def oracle() -> Callable[[str, dict[str, object]], Outcome]:
    sys.path.append(sysconfig.get_path("purelib", vars={"base": str(dev_needs.ORACLE)}))
    cel = importlib.import_module("cel_expr_python.cel")
    ext_strings = importlib.import_module("cel_expr_python.ext.ext_strings")
    names = dict.fromkeys(("i", "d", "s", "b", "li", "ls", "m"), cel.Type.DYN)
    environment = cel.NewEnv(variables=names, extensions=[ext_strings.ExtStrings()])

    def run(text: str, given: dict[str, object]) -> Outcome:
        try:
            found = environment.compile(text, disable_check=True).eval(data=given)
        except RuntimeError as error:
            return "error", str(error)
        if found.type() == cel.Type.ERROR:
            return "error", str(found.plain_value())
        return "value", found.plain_value()

    return run


def ours(text: str, given: dict[str, object]) -> Outcome:
    try:
        return "value", evaluate(parse(text), given).value
    except ExpressionError as error:
        return "error", f"{error.kind}: {error.message}"


def differs(seed: int | Random) -> tuple[object, ...] | None:
    """What the two say about a random expression, if that is not the same."""
    random = seed if isinstance(seed, Random) else Random(seed)
    text = Generator(random, wrong=0.03).text(random.choice(KINDS), 4)
    given = values(random)
    if len(text) > 4000:
        return None
    got, wanted = ours(text, given), oracle()(text, given)
    if got[0] == wanted[0] == "error" or (got[0] == wanted[0] and same(got[1], wanted[1])):
        return None
    if wanted[0] == "error" and any(mark in str(wanted[1]) for mark in MIXED):
        return None
    if "e+" in str(wanted[1]) and "e+" not in str(got[1]):
        return None  # a double as a string: only the larger ones have an exponent here
    if got[0] == "error" and BOOLEAN in str(got[1]):
        return None
    if wanted[0] == "value" and is_odd(wanted[1]) and "JSON cannot hold" in str(got[1]):
        return None
    return text, given, got, wanted


def same(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def is_odd(value: object) -> bool:
    """Whether a number in it is one that JSON cannot hold."""
    if isinstance(value, list):
        return any(map(is_odd, value))
    return isinstance(value, float) and not math.isfinite(value)


@settings(max_examples=examples(400))
@given(st.randoms(use_true_random=False))
def test_a_random_expression_gives_what_cel_gives(random: Random) -> None:
    assert differs(random) is None


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_random_expressions_give_what_cel_gives(part: int) -> None:
    found = (differs(seed) for seed in range(part * 10_000, (part + 1) * 10_000))
    assert next((difference for difference in found if difference), None) is None
