"""Splits text into the pieces of words that the sentence model knows: WordPiece, in lower case."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VOCABULARY = Path(__file__).with_name("vocabulary.txt.gz")
"""The vocabulary of BERT's uncased models (Apache-2.0, see `NOTICE`): the packages with small weights lack it."""

MOST_TOKENS = 64
"""Pieces of a text that count, the two marks among them. More were measured not to find more."""

_UNKNOWN, _BEGIN, _END = 100, 101, 102
_LONGEST_WORD_CHARACTERS = 100
_LONGEST_CHARACTERS = 2_000
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_SIGN = re.compile("([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")


@cache
def read_vocabulary() -> Mapping[str, int]:
    """The number of each piece; those that go on with a word begin with `##`."""
    pieces = gzip.decompress(VOCABULARY.read_bytes()).decode().split("\n")
    return {piece: number for number, piece in enumerate(pieces)}


def tokenize(text: str) -> list[int]:
    """The pieces of a text by number, between the marks that the model expects."""
    plain = unicodedata.normalize("NFD", text[:_LONGEST_CHARACTERS].lower())
    plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Mn")
    numbers = read_vocabulary()
    found = [_BEGIN]
    for word in _WORD.findall(_SIGN.sub(r" \1 ", plain)):
        found += _pieces(word, numbers)
        if len(found) >= MOST_TOKENS:
            break
    return [*found[: MOST_TOKENS - 1], _END]


def _pieces(word: str, numbers: Mapping[str, int]) -> list[int]:
    """The longest piece that the word begins with, then the longest of the rest, and so on."""
    found: list[int] = []
    start = 0
    if len(word) > _LONGEST_WORD_CHARACTERS:
        return [_UNKNOWN]
    while start < len(word):
        mark = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in numbers), 0)
        if not end:
            return [_UNKNOWN]
        found.append(numbers[mark + word[start:end]])
        start = end
    return found
