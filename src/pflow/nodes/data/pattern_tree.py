"""Reads a regular expression, as Python writes it, into a tree: no back-references, no looking around.

What one character may be is asked of `re` itself, so that classes, escapes and flags mean exactly the same there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from pflow.core.errors import StepError
from pflow.core.frozen import Frozen

MOST_DEEP = 50
"""Groups inside groups."""


class One(Frozen):
    """One character. `fragment` is how it is written, `flags` those under which it is read."""

    fragment: str
    flags: int = 0

    def test(self) -> Callable[[str], object]:
        """Whether a character is such a one."""
        return _compiled(self.fragment, self.flags).fullmatch


class Place(Frozen):
    """A place between characters: `^`, `$`, `A`, `Z`, `b` or `B`; `m` and `a` say how it is read."""

    kind: str
    flags: int = 0


class Row(Frozen):
    """One part after the other."""

    parts: tuple[Tree, ...]


class Either(Frozen):
    """Alternatives; the first that leads to a match counts."""

    parts: tuple[Tree, ...]


class Repeat(Frozen):
    """A part several times, without end if `most` is None: as often as possible, or as seldom if `lazy`."""

    part: Tree
    least: int
    most: int | None
    lazy: bool


class Group(Frozen):
    """What a name is given to."""

    name: str
    part: Tree


Tree = One | Place | Row | Either | Repeat | Group

_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|[0-3][0-7]{2}|.)", re.DOTALL
)
_TIMES = re.compile(r"([*+?]|\{(?P<least>[0-9]*)(?P<comma>,)?(?P<most>[0-9]*)\})(?P<manner>[?+])?")
_FLAGS = re.compile(r"\(\?(?P<on>[aiLmsux]*)(?:-(?P<off>[imsx]+))?(?P<end>[:)])")
_MARKED = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def read_tree(pattern: re.Pattern[str]) -> Tree:
    """The tree of a pattern that `re` has read. Raises `StepError` for what it has and this has not."""
    reader = _Reader(pattern.pattern)
    return reader.either(pattern.flags)


class _Reader:
    """Goes through a pattern that is known to be valid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def either(self, flags: int) -> Tree:
        parts = [self.row(flags)]
        while self.text.startswith("|", self.at):
            self.at += 1
            parts.append(self.row(flags))
        return parts[0] if len(parts) == 1 else Either(parts=tuple(parts))

    def row(self, flags: int) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if not self._skip(flags) and (part := self.atom(flags)) is not None:
                parts.append(self.repeated(part, flags))
        return parts[0] if len(parts) == 1 else Row(parts=tuple(parts))

    def _skip(self, flags: int) -> bool:
        """Pass over spaces and comments, where they do not count."""
        if not flags & re.VERBOSE or self.text[self.at] not in " \t\n\r\f\v#":
            return False
        end = self.text.find("\n", self.at) if self.text[self.at] == "#" else self.at
        self.at = len(self.text) if end < 0 else end + 1
        return True

    def repeated(self, part: Tree, flags: int) -> Tree:
        while self.at < len(self.text) and self._skip(flags):
            pass
        found = _TIMES.match(self.text, self.at)
        if found is None or found[1] == "{}" or (found["least"] == "" and found["comma"] is None):
            return part
        self.at = found.end()
        if found["manner"] == "+":
            raise _unsupported("repetitions that never give back, such as `a++`")
        if found[1] in _MARKED:
            least, most = _MARKED[found[1]]
        else:
            least = int(found["least"] or 0)
            most = int(found["most"]) if found["most"] else None if found["comma"] else least
        return Repeat(part=part, least=least, most=most, lazy=found["manner"] == "?")

    def atom(self, flags: int) -> Tree | None:
        letter = self.text[self.at]
        if letter == "(":
            return self.group(flags)
        if letter == "[":
            return One(fragment=self._take(_CLASS), flags=flags)
        if letter == "\\":
            return self.escape(flags)
        self.at += 1
        if letter in "^$":
            return Place(kind=letter, flags=flags)
        return One(fragment="." if letter == "." else re.escape(letter), flags=flags)

    def escape(self, flags: int) -> Tree:
        found = self._take(_ESCAPE)
        if found[1:] in ("A", "Z", "b", "B"):
            return Place(kind=found[1], flags=flags)
        if found[1:].isdigit() and len(found) < 4 and found[1] != "0":
            raise _unsupported("back-references")
        return One(fragment=found, flags=flags)

    def group(self, flags: int) -> Tree | None:
        name = ""
        if self.text.startswith("(?P<", self.at):
            close = self.text.index(">", self.at)
            name = self.text[self.at + 4 : close]
            self.at = close + 1
        elif self.text.startswith("(?#", self.at):
            self.at = self.text.index(")", self.at) + 1
            return None
        elif changed := _FLAGS.match(self.text, self.at):
            self.at = changed.end()
            if changed["end"] == ")":
                return None  # for the whole pattern: among its flags already
            for letter in changed["on"]:
                flags |= _flag(letter)
            for letter in changed["off"] or "":
                flags &= ~_flag(letter)
        elif self.text.startswith("(?", self.at):
            raise _unsupported(_name_of(self.text[self.at + 2 : self.at + 4]))
        else:
            self.at += 1
        self.depth += 1
        if self.depth > MOST_DEEP:
            raise StepError(f"groups of `pattern` are more than {MOST_DEEP} deep")
        inner = self.either(flags)
        self.depth -= 1
        self.at += 1
        return Group(name=name, part=inner) if name else Row(parts=(inner,))

    def _take(self, what: re.Pattern[str]) -> str:
        found = what.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        return found[0]


def _flag(letter: str) -> int:
    return int({"i": re.I, "m": re.M, "s": re.S, "x": re.X, "a": re.A}.get(letter, 0))


def _name_of(start: str) -> str:
    if start.startswith("P="):
        return "back-references"
    if start.startswith(("=", "!", "<")):
        return "looking ahead or behind"
    return "conditions" if start.startswith("(") else "groups that never give back"


def _unsupported(what: str) -> StepError:
    return StepError(
        f"`pattern` uses {what}, which would let a search take forever",
        suggestions=["match more than you need, with groups around the parts, and compare them in a later step"],
    )


@lru_cache(maxsize=256)
def _compiled(fragment: str, flags: int) -> re.Pattern[str]:
    kept = flags & (re.I | re.S | re.A)
    return re.compile(fragment, kept)
