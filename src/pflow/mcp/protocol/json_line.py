"""Newline-delimited JSON: bytes into lines, lines into values, and whose reply a broken line was."""

from __future__ import annotations

import re

import orjson

from pflow.core.json_type import load_json

LINE_LIMIT = 16 << 20
"""Bytes that one line may have."""

MOST_BRACKETS = 250_000
MOST_FIELDS = 250_000
MOST_STRINGS = 1_000_000
MOST_COMMAS = 3_000_000
"""What a line may hold at most, because reading it stops all else: for about 0.1 s then."""

_SHORT_BYTES = 1 << 20

_NESTED_BRACKETS = 250
_HEAD = re.compile(rb'\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"]{0,40}"|(\d{1,18}))\s*,){1,2}')
_TAIL = re.compile(rb'[,{]\s*"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class Lines:
    """Lines cut from a stream of bytes. Once `overlong`, a line went beyond the limit and nothing after it counts."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.overlong = False
        self._limit = limit
        self._kept: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their ends."""
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and self._kept:
            lines[0] = b"".join((*self._kept, lines[0]))
            self._kept.clear()
            self._size = 0
        if rest:
            self._kept.append(rest)
            self._size += len(rest)
        for position, line in enumerate(lines):
            if len(line) > self._limit:
                self.overlong = True
                return lines[:position]
        self.overlong = self._size > self._limit
        return lines


def decode(line: bytes) -> object:
    """The value of a line. Raises `ValueError` for what is not JSON or could not be written again.

    orjson refuses lone surrogates, invalid UTF-8, and numbers beyond a double. It reads deeper than it writes, and
    what comes from a server must be writable: to the journal, and to callers.
    """
    brackets = line.count(b"[") + line.count(b"{")
    if brackets > MOST_BRACKETS:
        raise ValueError(f"more than {MOST_BRACKETS:,} brackets")
    if len(line) > _SHORT_BYTES:
        _check_parts(line)
    if brackets <= _NESTED_BRACKETS:
        value: object = orjson.loads(line)
        return value
    try:
        value = load_json(line)
        orjson.dumps(value)
    except TypeError as error:
        raise ValueError("nested too deeply") from error
    return value


def _check_parts(line: bytes) -> None:
    """Raise `ValueError` for a long line whose parts would take too long to read. Strings are cheap."""
    # A quote that ends a string of backslashes counts as one inside it: too few by half, at the worst.
    strings = (line.count(b'"') - line.count(b'\\"')) // 2
    parts = {
        "fields": (min(strings, line.count(b":")), MOST_FIELDS),
        "texts": (strings, MOST_STRINGS),
        "commas": (line.count(b","), MOST_COMMAS),
    }
    for name, (found, most) in parts.items():
        if found > most:
            raise ValueError(f"more than {most:,} {name}")


def find_reply_id(line: bytes) -> int | None:
    """The id in a line that is not valid JSON but begins or ends as a reply does, so that its caller need not wait."""
    found = _HEAD.match(line[:200])
    if found is not None and found[1] is not None and b'"method"' not in line[:200]:
        return int(found[1])
    found = _TAIL.search(line[-200:])
    return int(found[1]) if found is not None else None
