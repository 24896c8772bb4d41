"""JSON as editors write it, with comments and commas at the end: into plain JSON, in time linear in its length."""

from __future__ import annotations

import re

_MARK = re.compile(r'"|//|/\*|,')
_STRING = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_CLOSED = re.compile(r"\s*[}\]]")


def strip_comments(text: str) -> str:
    """The text without comments and without commas before a closing bracket."""
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
