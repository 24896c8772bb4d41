"""How long `re` can take for a pattern and a text, at most: a bound that follows from both, or none.

`re` tries one way after the other. From one start it goes through the product of all choices, but for repetitions
after which nothing can come that they begin with: giving back what they took leads nowhere at once, so that these only
add up. How often a repetition can go round is read off the text, as the longest run of the characters that it takes.
Many repetitions of what has choices inside have no bound here, nor have those of what may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from pflow.nodes.data.linear_search import can_be_empty
from pflow.nodes.data.pattern_tree import Either, Group, One, Place, Repeat, Row, Tree

_FEW = 10
"""Repetitions of choices that may be counted as if they were written out."""


class _Way(NamedTuple):
    """What a part adds: choices that multiply, and characters that add up."""

    choices: int
    length: int


class SearchCost:
    """The steps of a search with `re`, for one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._letters = frozenset(text)
        self._known: dict[tuple[str, int], frozenset[str]] = {}
        self._runs: dict[frozenset[str], int] = {}

    def bound(self, tree: Tree) -> int | None:
        """At most so many steps, or None if there is no such bound."""
        way = self._way(tree, frozenset())  # nothing can fail at the end
        if way is None:
            return None
        starts = self._text.count("\n") + 1 if _begins_a_line(tree) else len(self._text) + 1
        return len(self._text) + starts * way.choices * way.length

    def _way(self, tree: Tree, after: frozenset[str]) -> _Way | None:
        """`after` are the characters that can follow the part."""
        if isinstance(tree, One | Place):
            return _Way(1, 1)
        if isinstance(tree, Group):
            return self._way(tree.part, after)
        if isinstance(tree, Repeat):
            return self._repeated(tree, after)
        ways = []
        for part in reversed(tree.parts):
            way = self._way(part, after)
            if way is None:
                return None
            ways.append(way)
            if isinstance(tree, Row):
                after = self._first(part, after)
        factor = len(ways) if isinstance(tree, Either) else 1
        return _Way(factor * prod(way.choices for way in ways), 1 + sum(way.length for way in ways))

    def _repeated(self, tree: Repeat, after: frozenset[str]) -> _Way | None:
        if tree.most is not None and tree.most <= 1:
            inner = self._way(tree.part, after)
            return inner and _Way(2 * inner.choices, inner.length)
        if can_be_empty(tree.part):
            return None
        again = self._first(tree.part, frozenset())
        inner = self._way(tree.part, again | after)
        if inner is None:
            return None
        run = self._run(frozenset().union(*self._letter_sets(tree.part)))
        times = run if tree.most is None else min(run, tree.most)
        if inner.choices == 1:
            return _Way(1 if after.isdisjoint(again) else times + 1, (times + 1) * _size(tree.part))
        if times > _FEW:
            return None
        return _Way((2 * inner.choices) ** times, (times + 1) * inner.length)

    def _first(self, tree: Tree, after: frozenset[str]) -> frozenset[str]:
        """The characters with which a part, and what follows it, can begin."""
        if isinstance(tree, One):
            return self._class(tree)
        if isinstance(tree, Place):
            # Before the end of a line stands its last character or nothing: no other character can come there.
            return frozenset("\n") if tree.kind == "$" else after
        if isinstance(tree, Row):
            for part in reversed(tree.parts):
                after = self._first(part, after)
            return after
        if isinstance(tree, Either):
            return frozenset().union(*(self._first(part, after) for part in tree.parts))
        inner = self._first(tree.part, after)
        return inner | after if isinstance(tree, Repeat) and tree.least == 0 else inner

    def _class(self, one: One) -> frozenset[str]:
        """Which characters of the text are such."""
        key = one.fragment, one.flags
        if key not in self._known:
            test = one.test()
            self._known[key] = frozenset(letter for letter in self._letters if test(letter))
        return self._known[key]

    def _letter_sets(self, tree: Tree) -> Iterator[frozenset[str]]:
        """The characters that each part can take."""
        if isinstance(tree, One):
            yield self._class(tree)
        elif isinstance(tree, Row | Either):
            for part in tree.parts:
                yield from self._letter_sets(part)
        elif isinstance(tree, Group | Repeat):
            yield from self._letter_sets(tree.part)

    def _run(self, letters: frozenset[str]) -> int:
        """How many of these characters follow one another at most."""
        if letters not in self._runs:
            run = re.compile("[" + "".join(map(re.escape, letters)) + "]+") if letters else None
            longest = max((len(found[0]) for found in run.finditer(self._text)), default=0) if run else 0
            self._runs[letters] = longest
        return self._runs[letters]


def _size(tree: Tree) -> int:
    if isinstance(tree, Row | Either):
        return 1 + sum(_size(part) for part in tree.parts)
    return 1 if isinstance(tree, One | Place) else 1 + _size(tree.part)


def _begins_a_line(tree: Tree) -> bool:
    """Whether a match can begin only where a line does."""
    if isinstance(tree, Place):
        return tree.kind in "^A"
    if isinstance(tree, Row):
        return bool(tree.parts) and _begins_a_line(tree.parts[0])
    if isinstance(tree, Either):
        return all(_begins_a_line(part) for part in tree.parts)
    return isinstance(tree, Group) and _begins_a_line(tree.part)
