"""Glob patterns, matched directory by directory in linear time."""

from __future__ import annotations

import fnmatch
import re

from pflow.core.errors import StepError

States = frozenset[int]
"""Which parts of a pattern the next name may match."""

_MOST_CHARACTERS = 1000


class Pattern:
    """A glob such as `src/**/*.py`. A set of states avoids trying the same directory twice."""

    def __init__(self, text: str) -> None:
        if not text or len(text) > _MOST_CHARACTERS or "\0" in text:
            raise StepError(f"`pattern` must be a glob of 1 to {_MOST_CHARACTERS:,} characters")
        parts = text.split("/")
        if not {"", ".", ".."}.isdisjoint(parts):
            raise StepError(
                f"`pattern` must stay below `path`: `{text}` does not",
                suggestions=["write it without a leading or double `/`, and without `.` and `..` parts"],
            )
        self._parts: list[re.Pattern[str] | None] = []
        self._dotted: list[bool] = []
        for part in parts:
            if part == "**" and self._parts and self._parts[-1] is None:
                continue
            self._parts.append(None if part == "**" else re.compile(fnmatch.translate(part)))
            self._dotted.append(part.startswith("."))
        if self._parts[-1] is None:
            # `docs/**` means the files below, as in `docs/**/*`.
            self._parts.append(re.compile(fnmatch.translate("*")))
            self._dotted.append(False)

    def start(self) -> States:
        """The states of the directory where the walk begins."""
        return self._closed({0})

    def step(self, states: States, name: str, *, linked: bool) -> tuple[bool, States]:
        """Whether a file of this name matches, and the states below a directory of this name."""
        matches = False
        deeper: set[int] = set()
        hidden = name.startswith(".")
        for state in states:
            part = self._parts[state]
            if hidden and not self._dotted[state]:
                continue
            if part is None:
                if not linked:
                    deeper.add(state)
            elif part.match(name):
                if state == len(self._parts) - 1:
                    matches = True
                else:
                    deeper.add(state + 1)
        return matches, self._closed(deeper)

    def _closed(self, states: set[int]) -> States:
        """With the states that `**` reaches by standing for no directory at all."""
        return frozenset(states | {state + 1 for state in states if self._parts[state] is None})
