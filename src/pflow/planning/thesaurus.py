"""Other words for the words of a query: a small table written by hand, and neighbours that a sentence model found."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_WORDS = Path(__file__).with_name("words")
THESAURUS = _WORDS / "thesaurus.txt"
NEIGHBOURS = _WORDS / "neighbours.txt.gz"

_WRITTEN_WEIGHT = 0.7
_NEIGHBOUR_WEIGHT = 0.7
_MOST = 24
"""Other words that are looked for in place of one."""

_GZIP = 31
"""How zlib is told that data has the header of gzip, whose own module takes longer to import than to use."""


def other_words(word: str) -> dict[str, float]:
    """Words and phrases that may stand for a word, and what finding one is worth beside finding the word itself."""
    found = dict.fromkeys(_written().get(word) or _written().get(word.removesuffix("s"), ()), _WRITTEN_WEIGHT)
    for other, likeness in _neighbours(word):
        found.setdefault(other, _NEIGHBOUR_WEIGHT * (likeness - 0.3) / 0.7)
    return dict(list(found.items())[:_MOST])


@cache
def _written() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in THESAURUS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        head, sign, *rest = line.split()
        words = [word.replace("_", " ") for word in (head, *rest)]
        for word in words if sign == "=" else words[:1]:
            found.setdefault(word, {}).update(dict.fromkeys(other for other in words if other != word))
    return {word: tuple(others) for word, others in found.items()}


def _neighbours(word: str) -> list[tuple[str, float]]:
    text = _neighbour_text()
    start = text.find(f"\n{word} ")
    if start < 0:
        return []
    _, *others = text[start + 1 : text.index("\n", start + 1)].split()
    return [(other[:-1], int(other[-1]) / 10 + 0.05) for other in others]


@cache
def _neighbour_text() -> str:
    """A line for each word: its neighbours, each with a digit that says how close it is."""
    return zlib.decompress(NEIGHBOURS.read_bytes(), _GZIP).decode()
