"""Regular expressions that take linear time by construction: all states at once, never a second try.

What was computed for a set of states and a character is kept, so that long texts are cheap as well.
"""

from __future__ import annotations

from functools import lru_cache

from pflow.core.expression.pattern import ACCEPT, State, read
from pflow.core.expression.value import Steps

_MOST_KEPT = 5000
"""Transitions of one pattern that are kept."""

_STATES_A_STEP = 4
"""States that one step of an evaluation pays for."""

Set = frozenset[int]
Transition = tuple[Set, bool, int]


class Regex:
    """A pattern, ready to be searched for in texts."""

    def __init__(self, states: list[State], first: int) -> None:
        self._states = states
        self._first = first
        self._kept: dict[tuple[Set, str, str], Transition] = {}

    def search(self, text: str, steps: Steps) -> bool:
        """Whether the pattern matches anywhere in the text."""
        steps.spend(len(self._states))
        current: Set = frozenset((self._first,))
        before, cost = "", 0
        kept = self._kept
        for letter in text:
            found = kept.get((current, before, letter))
            if found is None:
                steps.spend(cost)
                cost = 0
                found = self._advance(current, before, letter)
            current, accepted, spent = found
            if accepted:
                break
            cost += spent
            before = letter
        else:
            accepted = ACCEPT in self._closure(current, before, "")
        steps.spend(cost)
        return accepted

    def _advance(self, current: Set, before: str, letter: str) -> Transition:
        """The states behind a character, the first among them: a match may begin anywhere."""
        reached = self._closure(current, before, letter)
        following = {self._first}
        for number in reached:
            state = self._states[number]
            if state.takes is not None and state.takes(letter):
                following.update(state.leads)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        # The same cost whether it is kept or not: an evaluation must not depend on those before it.
        found = frozenset(following), ACCEPT in reached, 1 + len(reached) // _STATES_A_STEP
        self._kept[current, before, letter] = found
        return found

    def _closure(self, current: Set, before: str, after: str) -> set[int]:
        """The states that are reached without a character, between two characters, "" at an end of the text."""
        reached: set[int] = set()
        waiting = list(current)
        while waiting:
            number = waiting.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.takes is None and (not state.asserts or _holds(state.asserts, before, after)):
                waiting.extend(state.leads)
        return reached


def _holds(asserts: str, before: str, after: str) -> bool:
    match asserts:
        case "start":
            return not before
        case "end":
            return not after
        case "line-start":
            return before in ("", "\n")
        case "line-end":
            return after in ("", "\n")
    return (_is_word(before) != _is_word(after)) == (asserts == "word-edge")


def _is_word(letter: str) -> bool:
    return letter == "_" or (letter.isascii() and letter.isalnum())


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Regex:
    """The pattern, ready to use; a `Fault` says what is wrong with it."""
    return Regex(*read(pattern))
