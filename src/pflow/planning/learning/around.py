"""Texts that differ in one value alone: what stands around it, wherever and however often it stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pflow.core.frozen import Frozen
from pflow.planning.learning.leaf import escaped

_EDGES = "/ =:,#"
_TOKEN = re.compile(r"[^\s/=:,;|&<>()'\"?#]+")


class Around(Frozen):
    """What stands before, between and after the places of a value. A value that is the whole text has nothing there."""

    pieces: tuple[str, ...] = ("", "")

    def value_in(self, text: str) -> str:
        """The value in a text that is known to fit."""
        length = (len(text) - sum(map(len, self.pieces))) // (len(self.pieces) - 1)
        return text[len(self.pieces[0]) :][:length]

    def fits(self, text: str) -> bool:
        """Whether a text is the same but for its value."""
        value = self.value_in(text)
        return bool(value) and value.join(self.pieces) == text

    def template(self, reference: str, first: str | None = None) -> str:
        """The text with a template for the value; `first` is what stands before it, if that is no plain text."""
        pieces = [escaped(piece) for piece in self.pieces]
        return reference.join([pieces[0] if first is None else first, *pieces[1:]])


def find_around(texts: Sequence[str], value: str) -> Around | None:
    """What stands around `value` in the first of texts, if it is the same in all others around theirs."""
    for pattern in (rf"(?<!\w){re.escape(value)}(?!\w)", re.escape(value)):
        around = Around(pieces=tuple(re.split(pattern, texts[0])))
        if len(around.pieces) > 1 and all(map(around.fits, texts)):
            return around
    return None


def find_arounds(texts: Sequence[str]) -> Iterator[Around]:
    """What may stand around the values of texts, the most of it first; the whole texts are the last."""
    common = 0
    while all(len(text) > common and text[common] == texts[0][common] for text in texts):
        common += 1
    seen: set[str] = set()
    for start in [cut + 1 for cut in reversed(range(common)) if texts[0][cut] in _EDGES] + [0]:
        rest = texts[0][start:]
        token = _TOKEN.match(rest)
        for value in (token[0] if token else "", rest):
            around = find_around(texts, value) if value and value not in seen else None
            seen.add(value)
            if around is not None:
                yield around
