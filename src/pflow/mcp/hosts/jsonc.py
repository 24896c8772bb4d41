"""JSON as people and editors write it: with comments, commas at the end, and names that stand twice in an object."""

from __future__ import annotations

import re
from collections import Counter

_MARK = re.compile(r'"|//|/\*|,')
_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CLOSED = re.compile(r"\s*[}\]]")


class Members(dict[str, object]):
    """The members of an object; `repeated` are the names that it has more than once, of which the last value counts."""

    repeated: frozenset[str] = frozenset()


def parse_members(text: str | bytes) -> object:
    """JSON whose objects tell what they repeat. Raises `ValueError` and `RecursionError`."""
    import json  # lazy: only when the file of another program is read

    def members(pairs: list[tuple[str, object]]) -> Members:
        found = Members(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            found.repeated = frozenset(name for name in found if counts[name] > 1)
        return found

    return json.loads(text, object_pairs_hook=members)


def find_repeated(value: object) -> str:
    """A name that some object in a value has more than once; nothing if there is none."""
    parts = [value]
    for part in parts:
        if isinstance(part, Members) and part.repeated:
            return min(part.repeated)
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return ""


def strip_comments(text: str) -> str:
    """The text without comments and without commas before a closing bracket, in time linear in its length."""
    return _strip(_strip(text, comments=True), comments=False)


def _strip(text: str, *, comments: bool) -> str:
    parts = []
    done = at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark[0] == '"':
            string = _STRING.match(text, at)
            if string is None:
                break  # never closed: parsing the text reports it
            at = string.end()
        elif mark[0] == ",":
            if not comments and _CLOSED.match(text, at):
                parts.append(text[done : mark.start()])
                done = at
        elif comments:
            end = text.find("\n" if mark[0] == "//" else "*/", at)
            parts.append(text[done : mark.start()])
            at = len(text) if end < 0 else end if mark[0] == "//" else end + 2
            done = at
    return "".join([*parts, text[done:]])
