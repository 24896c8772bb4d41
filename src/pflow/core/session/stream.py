"""One JSON object in a file of any size, read member by member; only one of them is in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TextIO

from pflow.core.json_type import Json

_CHUNK = 1 << 16
_MOST = 64 << 20
"""A longer value is where the reading ends."""


class _Reader:
    """A text and a place in it, both of which move on."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._text = ""
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            self._text = self._text.lstrip()
            if self._text or not self._more(_CHUNK):
                return self._text[:1]

    def skip(self) -> None:
        self._text = self._text[1:]

    def value(self) -> object:
        """The next value. Raises `ValueError` if there is none."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text)
                if end < len(self._text) or not self._more(_CHUNK):
                    self._text = self._text[end:]
                    return value
            except (ValueError, RecursionError):
                if len(self._text) > _MOST or not self._more(max(_CHUNK, len(self._text))):
                    raise ValueError("the file ends within a value") from None

    def _more(self, size: int) -> bool:
        added = self._file.read(size)
        self._text += added
        return bool(added)


def stream_members(path: Path, arrays: Collection[str], note: Callable[[str], None]) -> Iterator[tuple[str, Json]]:
    """The members of a file's object that are objects, and the objects in its `arrays`, each with its key.

    What cannot be read ends the reading, with a note. Raises `OSError`.
    """
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        reader = _Reader(file)
        try:
            yield from _members(reader, arrays)
        except ValueError:
            note("line")


def _members(reader: _Reader, arrays: Collection[str]) -> Iterator[tuple[str, Json]]:
    _take(reader, "{")
    while reader.peek() == '"':
        key = str(reader.value())
        reader.peek()
        _take(reader, ":")
        if key in arrays and reader.peek() == "[":
            reader.skip()
            while reader.peek() not in ("]", ""):
                value = reader.value()
                if isinstance(value, dict):
                    yield key, value
                if reader.peek() == ",":
                    reader.skip()
            reader.skip()
        else:
            reader.peek()
            value = reader.value()
            if isinstance(value, dict):
                yield key, value
        if reader.peek() == ",":
            reader.skip()
    _take(reader, "}")


def _take(reader: _Reader, mark: str) -> None:
    if reader.peek() != mark:
        raise ValueError(f"no {mark}")
    reader.skip()
