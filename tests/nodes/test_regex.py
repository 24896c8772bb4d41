"""Patterns of `parse`: our own search finds what `re` finds, and no pattern takes forever."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pflow.nodes.data.linear_search import LinearSearch, can_be_empty
from pflow.nodes.data.pattern_tree import Repeat, Tree, read_tree
from pflow.nodes.data.regex import compile_pattern
from pflow.nodes.data.search_cost import SearchCost
from tests.quick import examples

ATOMS = [
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\d",
    r"\s",
    r"\W",
    "ß",
    "é",
    r"\.",
    r"\x61",
    "1",
    r"[\w-]",
    "[]a]",
    "ab",
]
PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\Z"]
TIMES = ["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{1,3}?", "{,2}"]
LETTERS = "aabb1 -.\nAÉéßſİ_"


class Patterns:
    """Random patterns, out of what a source of chance says."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.names = 0

    def make(self) -> str:
        start = self.chance.choice(["", "", "", "(?i)", "(?s)", "(?is)", "(?a)"])
        return start + self.either(3)

    def either(self, depth: int) -> str:
        return "|".join(self.row(depth) for _ in range(self.chance.choice([1, 1, 1, 2, 3])))

    def row(self, depth: int) -> str:
        return "".join(self.part(depth) for _ in range(self.chance.choice([0, 1, 1, 2, 3])))

    def part(self, depth: int) -> str:
        if self.chance.random() < 0.15:
            return self.chance.choice(PLACES)
        if depth and self.chance.random() < 0.45:
            opening = self.chance.choice(["(?P<{}>", "(?P<{}>", "(", "(?:", "(?i:", "(?-m:", "(?s:"])
            if "{}" in opening:
                opening = opening.format(f"g{self.names}")
                self.names += 1
            part = f"{opening}{self.either(depth - 1)})"
        else:
            part = self.chance.choice(ATOMS)
            part = f"(?:{part})" if part == "ab" else part
        return part + (self.chance.choice(TIMES) if self.chance.random() < 0.4 else "")


def repeats_nothing(tree: Tree) -> bool:
    """Whether something that may be empty is repeated: what its groups hold then is a matter of the search."""
    parts = getattr(tree, "parts", (tree.part,) if hasattr(tree, "part") else ())
    is_empty = isinstance(tree, Repeat) and tree.most != 1 and can_be_empty(tree.part)
    return is_empty or any(repeats_nothing(part) for part in parts)


def compare(chance: Random) -> None:
    pattern = Patterns(chance).make()
    compiled = re.compile(pattern, re.MULTILINE)
    tree = read_tree(compiled)
    if repeats_nothing(tree):
        return
    text = "".join(chance.choice(LETTERS) for _ in range(chance.randint(0, 12)))
    expected = [match.groupdict() for match in compiled.finditer(text)]
    found = list(LinearSearch(tree, tuple(compiled.groupindex)).find_all(text))
    assert found == expected, (pattern, text)


@settings(max_examples=examples(500))
@given(st.randoms(use_true_random=False))
def test_our_own_search_finds_what_re_finds(chance: Random) -> None:
    compare(chance)


@pytest.mark.slow
def test_our_own_search_finds_what_re_finds_for_thousands_of_patterns() -> None:
    for seed in range(30_000):
        compare(Random(seed))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            r"^(?P<ip>\S+) \S+ \[(?P<at>[^\]]+)\] \"(?P<what>\w+) (?P<path>\S+)\"$",
            '1.2.3.4 - [16/Nov] "GET /a"\n' * 900,
        ),
        (r"(?P<name>\w+)=(?P<value>\S+)", "user=ann id=5 x\n" * 900),
        (r"(?P<ip>(?:\d{1,3}\.){3}\d{1,3})", "from 10.0.0.1 to 10.0.0.2\n" * 900),
        (r"(?P<path>(?:/\w+)+)", "GET /a/b/c HTTP\n" * 900),
        (r"^(?P<a>.*) - (?P<b>.*)$", "some words - some more words\n" * 900),
    ],
)
def test_patterns_for_ordinary_logs_have_a_low_bound(pattern: str, text: str) -> None:
    bound = SearchCost(text).bound(read_tree(compile_pattern(pattern)))
    assert bound is not None and bound < 500 * len(text)


@pytest.mark.parametrize("pattern", [r"(?P<a>(x+)+)y", r"(?P<a>(x|xx)+)y", r"(?P<a>(x?)*)y", r"(?P<a>x*x*x*x*)y"])
def test_patterns_that_can_take_forever_have_none_or_a_high_one(pattern: str) -> None:
    bound = SearchCost("x" * 1000).bound(read_tree(compile_pattern(pattern)))
    assert bound is None or bound > 10**12
