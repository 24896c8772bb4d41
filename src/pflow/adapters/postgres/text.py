"""Strings as Postgres can store them: all but NUL, which is written as `\\0`, and the backslash doubled for that."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def to_stored(text: str) -> str:
    """A string to be stored or looked for. What begins another begins it afterwards, too."""
    if "\\" not in text and "\0" not in text:
        return text
    return text.replace("\\", "\\\\").replace("\0", "\\0")


def from_stored(text: str) -> str:
    """The string that was stored."""
    return text if "\\" not in text else _ESCAPE.sub(lambda found: "\0" if found[1] == "0" else found[1], text)
