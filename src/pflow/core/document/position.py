"""Positions in a document: paths, their readable form, and their lines and columns."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

from pflow.core.document.issue import Issue
from pflow.core.printable import cut

Path = tuple[str | int, ...]

_PLAIN = r"[A-Za-z_][A-Za-z0-9_-]*"
_LONGEST_KEY = 120
"""Characters of a key that are shown."""


def show_path(path: Sequence[str | int]) -> str:
    """The path as text: `nodes[2].params.url`, with odd keys quoted: `params["a b"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(_PLAIN, part) and len(part) <= _LONGEST_KEY:
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(cut(part, _LONGEST_KEY + 1), ensure_ascii=False)}]"
    return text


def read_path(text: str) -> Path | None:
    """The path that `show_path` showed as `text`; None if the text is not a path."""
    token = re.compile(r"\.?([A-Za-z_][A-Za-z0-9_-]*)|\[([0-9]{1,9})\]|\[(\"(?:[^\"\\]|\\.)*\")\]", re.DOTALL)
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        match = token.match(text, position)
        if match is None:
            return None
        if match[1] is not None:
            parts.append(match[1])
        elif match[2] is not None:
            parts.append(int(match[2]))
        else:
            try:
                parts.append(str(json.loads(match[3], strict=False)))
            except ValueError:
                return None
        position = match.end()
    return tuple(parts)


class Spot:
    """A value's place in the text: the offsets of its key (or its own) and of itself, and its parts."""

    __slots__ = ("children", "key", "value")

    def __init__(self, key: int, value: int, children: dict[str | int, Spot] | None = None) -> None:
        self.key = key
        self.value = value
        self.children = {} if children is None else children


class Places:
    """The lines and columns of a document's values, found on first use unless `root` is already there.

    Without text (an inline object) every place is line 0, column 0. `value` is the document itself, so that
    an issue can be shown with the value at its path.
    """

    __slots__ = ("_scan", "_starts", "is_json", "root", "text", "value")

    def __init__(self, text: str | None = None, scan: Callable[[str], Spot] | None = None) -> None:
        self.text = text
        self.value: object = None
        self.is_json = scan is not None
        self._scan = scan
        self.root: Spot | None = None
        self._starts: list[int] | None = None

    def find(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of the value at `path` (or its key), or of the nearest thing around it."""
        if self.root is None and self._scan is not None and self.text is not None:
            self.root = self._scan(self.text)
        if self.root is None:
            return 0, 0
        spot = self.root
        for part in path:
            inner = spot.children.get(part)
            if inner is None:
                return self.locate(spot.value)
            spot = inner
        return self.locate(spot.key if key else spot.value)

    def locate(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of the character at `offset` of the text."""
        if self.text is None:
            return 0, 0
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end; empty when there is no such line."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        text = self.text or ""
        end = starts[number] if number < len(starts) else len(text)
        return text[starts[number - 1] : end].rstrip("\r\n")

    def at(self, path: Path) -> object:
        """The value at `path`; None if there is none."""
        value = self.value
        for part in path:
            parts = dict(enumerate(value)) if isinstance(value, list) else value if isinstance(value, dict) else {}
            value = parts.get(part)
        return value

    def issue(
        self,
        code: str,
        message: str,
        path: Path = (),
        *,
        known: Sequence[str] = (),
        hint: str = "",
        key: bool = False,
        offset: int | None = None,
    ) -> Issue:
        """An issue at `path` with its line and column: those of the value, of its key, or of `offset`."""
        line, column = self.find(path, key=key) if offset is None else self.locate(offset)
        return Issue(
            code=code,
            message=message,
            path=show_path(path),
            line=line,
            column=column,
            known=tuple(known),
            hint=hint,
        )

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in re.finditer("\n", self.text or ""))]
        return self._starts


class _More(TypedDict, total=False):
    """Optional arguments of `Places.issue`."""

    known: Sequence[str]
    hint: str
    key: bool
    offset: int | None


class Issues:
    """Collects the issues of one document: the first thousand, then only their number.

    After `stop` the rest of the document cannot be read; `stopped` says so. `what` is its name in messages, for text
    that is read as strictly and is not a document.
    """

    __slots__ = ("_found", "_more", "places", "stopped", "what")

    LIMIT = 1000

    def __init__(self, places: Places, *, what: str = "document") -> None:
        self.places = places
        self.what = what
        self.stopped = False
        self._found: list[Issue] = []
        self._more = 0

    @property
    def full(self) -> bool:
        """Whether further issues are only counted, so that a suggestion for them would be lost."""
        return len(self._found) >= self.LIMIT

    def add(self, code: str, message: str, path: Path = (), **more: Unpack[_More]) -> None:
        """Remember an issue; see `Places.issue`."""
        if self.full:
            self._more += 1
            return
        self._found.append(self.places.issue(code, message, path, **more))

    def add_duplicate(self, key: str, path: Path, offset: int) -> None:
        """Remember a second `key` of the object at `path`."""
        message = f"the key `{key[:80]}` stands twice in one object"
        self.add("duplicate-key", message, (*path, key), offset=offset, hint="keep one of them")

    def stop(self, code: str, message: str, offset: int | None = None, *, hint: str = "") -> None:
        """Remember an issue that makes the rest unreadable."""
        self.add(code, message, hint=hint, offset=offset)
        self.stopped = True

    def found(self) -> tuple[Issue, ...]:
        """Every issue, in the order of the text."""
        found = sorted(self._found, key=lambda issue: (issue.line, issue.column))
        if self._more:
            found.append(Issue(code="too-many", message=f"{self._more:,} further issues are not listed"))
        return tuple(found)
