"""What of a run is under way by name, and whether all of it waits: counted as names come and go, never searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


class UnderWay:
    """Steps and items that have begun (`going`), and those that wait for something (`asked`).

    Nothing works while each name that is going waits, or has something below it: `deploy/fetch` and `deploy[3]` are
    below `deploy`. For each name those below it are counted, so that one change costs no more than its depth.
    """

    __slots__ = ("_below", "_working", "asked", "going")

    def __init__(self) -> None:
        self.going: set[str] = set()
        self.asked: set[str] = set()
        self._below: Counter[str] = Counter()
        self._working: set[str] = set()

    @property
    def rests(self) -> bool:
        """Whether something waits and nothing else is left to do."""
        return bool(self.asked) and not self._working

    def begin(self, name: str) -> None:
        """A step or an item goes on from here."""
        self._change(self.going, name, 1)

    def end(self, name: str) -> None:
        """It is over."""
        self._change(self.going, name, -1)

    def ask(self, name: str) -> None:
        """It waits."""
        self._change(self.asked, name, 1)

    def answer(self, name: str) -> None:
        """It waits no longer."""
        self._change(self.asked, name, -1)

    def forget_asked(self, step: str) -> None:
        """Nothing in a step waits any more."""
        if step in self.asked or self._below[step]:
            for name in [name for name in self.asked if name == step or step in _above(name)]:
                self.answer(name)

    def start_over(self, *, keeps_asked: bool) -> None:
        """Nothing is going; what waits still does so if that is kept."""
        kept = self.asked if keeps_asked else ()
        self.going, self.asked, self._below, self._working = set(), set(), Counter(), set()
        for name in kept:
            self.ask(name)

    def _change(self, names: set[str], name: str, by: int) -> None:
        was_there = name in self.going or name in self.asked
        if by > 0:
            names.add(name)
        else:
            names.discard(name)
        if was_there != (name in self.going or name in self.asked):
            for above in _above(name):
                self._below[above] += by
                self._judge(above)
        self._judge(name)

    def _judge(self, name: str) -> None:
        if name in self.going and name not in self.asked and not self._below[name]:
            self._working.add(name)
        else:
            self._working.discard(name)


def _above(name: str) -> Sequence[str]:
    """The names that a name is below: `a` and `a[3]` for `a[3]/b`."""
    if "/" not in name and "[" not in name:
        return ()
    return [name[:place] for place, character in enumerate(name) if place and character in "/["]
