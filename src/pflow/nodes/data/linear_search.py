"""Finds a pattern in time that grows with the text alone: all ways at once, in the order in which `re` tries them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pflow.core.errors import StepError
from pflow.nodes.data.pattern_tree import Either, Group, One, Place, Repeat, Row, Tree

MOST_PARTS = 5_000
"""Of a pattern, once its repetitions are written out."""

MOST_STEPS = 20_000_000
"""Of one search through a text, about half a minute."""

Saved = tuple[int, ...]
"""Where each named group begins and ends, and where each repetition began; -1 where it did not."""

Thread = tuple[int, int, Saved]
"""A state, where its match began, and what it has saved."""


class State(NamedTuple):
    """One state: it takes a character, asserts a place, saves where it is, or leads on to others, the best first.

    Where `empty` is a slot, a repetition that took nothing leads to the first, any other to the second.
    """

    leads: tuple[int, ...]
    takes: Callable[[str], object] | None = None
    place: Place | None = None
    saves: int = -1
    empty: int = -1


class LinearSearch:
    """A pattern, ready to be searched for."""

    def __init__(self, tree: Tree, names: tuple[str, ...]) -> None:
        self._names = names
        self._slots = 2 * len(names)
        self._states: list[State] = [State(())]
        self._first = self._build(tree, 0)
        self._steps = 0
        self._tested: dict[tuple[int, str], bool] = {}

    def find_all(self, text: str) -> Iterator[dict[str, str | None]]:
        """The named groups of each match, as `re.finditer` gives them. Raises `StepError` when it takes too long."""
        self._steps = 0
        at, must_advance = 0, False
        while at <= len(text):
            found = self._search(text, at, must_advance)
            if found is None:
                return
            start, end, saved = found
            yield {
                name: text[saved[2 * number] : saved[2 * number + 1]] if saved[2 * number + 1] >= 0 else None
                for number, name in enumerate(self._names)
            }
            at, must_advance = end, start == end

    def _search(self, text: str, begin: int, must_advance: bool) -> tuple[int, int, Saved] | None:
        """The first match from `begin` on, not an empty one there if it must advance."""
        best: tuple[int, int, Saved] | None = None
        threads: list[Thread] = []
        nothing = (-1,) * self._slots
        for at in range(begin, len(text) + 1):
            if best is None:
                threads.append((self._first, at, nothing))
            elif not threads:
                break
            following: list[Thread] = []
            seen: set[int] = set()
            for number, start, saved in threads:
                is_barred = must_advance and at == start == begin
                accepted = self._follow((number, start, saved), text, at, seen, following, is_barred=is_barred)
                if accepted is not None:
                    best = accepted
                    break
            threads = following
            self._steps += len(seen) + 1
            if self._steps > MOST_STEPS:
                raise StepError(
                    "searching for `pattern` takes too long: it could go on far behind each match",
                    suggestions=["name what ends a match, such as `[^,]*` rather than `.*`"],
                )
        return best

    def _follow(
        self,
        thread: Thread,
        text: str,
        at: int,
        seen: set[int],
        following: list[Thread],
        *,
        is_barred: bool,
    ) -> tuple[int, int, Saved] | None:
        """Go on from a state without taking a character, then over the character; a match if that is reached."""
        number, start, saved = thread
        letter = text[at] if at < len(text) else ""
        waiting = [(number, saved)]
        while waiting:
            here, saved = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            if here == 0:
                if is_barred:
                    continue
                return start, at, saved
            state = self._states[here]
            if state.takes is not None:
                if letter and self._takes(here, state.takes, letter):
                    following.append((state.leads[0], start, saved))
            elif state.place is not None:
                if _holds(state.place, text, at):
                    waiting.append((state.leads[0], saved))
            elif state.empty >= 0:
                is_empty = saved[state.empty] == at
                waiting.append((state.leads[0 if is_empty else 1], saved))
            elif state.saves >= 0:
                waiting.append((state.leads[0], (*saved[: state.saves], at, *saved[state.saves + 1 :])))
            else:
                waiting.extend((lead, saved) for lead in reversed(state.leads))
        return None

    def _takes(self, number: int, test: Callable[[str], object], letter: str) -> bool:
        key = number, letter
        known = self._tested.get(key)
        if known is None:
            known = self._tested[key] = bool(test(letter))
        return known

    # ---- states, from the end to the beginning

    def _build(self, tree: Tree, after: int) -> int:
        if isinstance(tree, One):
            return self._add(State((after,), takes=tree.test()))
        if isinstance(tree, Place):
            return self._add(State((after,), place=tree))
        if isinstance(tree, Row):
            for part in reversed(tree.parts):
                after = self._build(part, after)
            return after
        if isinstance(tree, Either):
            return self._add(State(tuple(self._build(part, after) for part in tree.parts)))
        if isinstance(tree, Group):
            slot = 2 * self._names.index(tree.name)
            inner = self._build(tree.part, self._add(State((after,), saves=slot + 1)))
            return self._add(State((inner,), saves=slot))
        return self._repeat(tree, after)

    def _repeat(self, tree: Repeat, after: int) -> int:
        if tree.most is None:
            loop = self._add(State(()))
            begin = loop
            if can_be_empty(tree.part):
                slot, self._slots = self._slots, self._slots + 1
                back = self._add(State((after, loop), empty=slot))
                begin = self._add(State((self._build(tree.part, back),), saves=slot))
            else:
                begin = self._build(tree.part, loop)
            self._states[loop] = State((after, begin) if tree.lazy else (begin, after))
            after = loop
        else:
            end = after
            for _ in range(tree.most - tree.least):
                inner = self._build(tree.part, after)
                after = self._add(State((end, inner) if tree.lazy else (inner, end)))
        for _ in range(tree.least):
            after = self._build(tree.part, after)
        return after

    def _add(self, state: State) -> int:
        self._states.append(state)
        if len(self._states) > MOST_PARTS:
            raise StepError(f"`pattern` has more than {MOST_PARTS:,} parts once its repetitions are written out")
        return len(self._states) - 1


def can_be_empty(tree: Tree) -> bool:
    """Whether a part can match without taking a character."""
    if isinstance(tree, One):
        return False
    if isinstance(tree, Row):
        return all(can_be_empty(part) for part in tree.parts)
    if isinstance(tree, Either):
        return any(can_be_empty(part) for part in tree.parts)
    if isinstance(tree, Repeat):
        return tree.least == 0 or can_be_empty(tree.part)
    return isinstance(tree, Place) or can_be_empty(tree.part)


def _holds(place: Place, text: str, at: int) -> bool:
    match place.kind:
        case "A":
            return at == 0
        case "Z":
            return at == len(text)
        case "^":
            return at == 0 or (bool(place.flags & re.MULTILINE) and text[at - 1] == "\n")
        case "$":
            is_line = bool(place.flags & re.MULTILINE) or at == len(text) - 1
            return at == len(text) or (is_line and text[at] == "\n")
    if not text:
        return False  # as `re` has it, for both
    word = One(fragment=r"\w", flags=place.flags).test()
    before, after = at > 0 and bool(word(text[at - 1])), at < len(text) and bool(word(text[at]))
    return (before != after) == (place.kind == "b")
