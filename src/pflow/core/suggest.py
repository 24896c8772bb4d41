"""Finds the known words that a mistyped one may have meant; knows nothing about documents."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100
"""Characters. Longer words are not typing mistakes, and comparing them costs more than a suggestion is worth."""


def nearest(word: str, candidates: Iterable[str], *, limit: int = 3) -> list[str]:
    """Up to `limit` candidates that `word` may have meant, the likeliest first.

    Case and `_` against `-` do not count as differences. Next come few typing mistakes (a transposition is one) and
    the same words in another order or repeated (`file-read`, `mcp-git-log`), then words that contain the other.
    """
    wanted = _fold(word)
    size = len(wanted)
    if not wanted or size > _LONGEST:
        return []
    reach = 1 if size < 4 else 2 if size < 8 else size // 3
    masks = _masks(wanted)
    letters = set(wanted)
    parts = set(wanted.split("-"))
    found: list[tuple[int, int, int, str]] = []
    for candidate in dict.fromkeys(candidates):
        other = _fold(candidate)
        length = len(other)
        if other == wanted:
            found.append((0, 0, 0, candidate))
            continue
        if abs(length - size) <= reach and len(letters.difference(other)) <= reach:
            distance = _distance(masks, size, other)
            if distance <= reach and distance < size:
                found.append((1, distance, abs(length - size), candidate))
                continue
        if len(parts) > 1 and parts == set(other.split("-")):
            found.append((1, 1, abs(length - size), candidate))
            continue
        if (size > 2 and wanted in other) or (2 < length <= size and other in wanted):
            found.append((2, abs(length - size), 0, candidate))
    found.sort()
    return [candidate for *_, candidate in found[:limit]]


def did_you_mean(word: str, candidates: Iterable[str], *, limit: int = 1) -> str:
    """A question that names the likeliest candidates; "" if none is near."""
    near = " or ".join(f"`{candidate}`" for candidate in nearest(word, candidates, limit=limit))
    return f"did you mean {near}?" if near else ""


def _fold(word: str) -> str:
    return word.lower().replace("_", "-")


def _masks(word: str) -> dict[str, int]:
    masks: dict[str, int] = {}
    for index, letter in enumerate(word):
        masks[letter] = masks.get(letter, 0) | 1 << index
    return masks


def _distance(masks: dict[str, int], size: int, other: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between the word of `masks` and `other`.

    Hyyrö's bit-parallel form of optimal string alignment: one pass over `other` with whole columns of the
    usual matrix held in integers, which lets thousands of candidates be compared in a few milliseconds.
    """
    full = (1 << size) - 1
    last = 1 << (size - 1)
    positive, negative, diagonal, before = full, 0, 0, 0
    distance = size
    for letter in other:
        match = masks.get(letter, 0)
        swap = ((~diagonal & match) << 1) & before
        diagonal = ((((match & positive) + positive) ^ positive) | match | negative | swap) & full
        up = negative | (~(diagonal | positive) & full)
        down = positive & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up = (up << 1 | 1) & full
        down = (down << 1) & full
        positive = down | (~(diagonal | up) & full)
        negative = up & diagonal
        before = match
    return distance
