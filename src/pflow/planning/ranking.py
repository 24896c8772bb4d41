"""The port of rankings, which decide what fits a request, and their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pflow.core.frozen import Frozen
from pflow.planning.catalogue import Catalogue, Kind


class Match(Frozen):
    """Something that fits, how well from 0 to 1, and why: the words it was found by, by the field they are in."""

    kind: Kind
    name: str
    score: float
    why: Mapping[str, tuple[str, ...]] = {}


class Ranked(Frozen):
    """What fits, the best first, the words of the request that nothing at all has, and what the order comes from."""

    matches: tuple[Match, ...] = ()
    unknown: tuple[str, ...] = ()
    title: str = ""


class Ranking(Protocol):
    """Finds what fits a request. It may keep what it learns about a catalogue for as long as its stamps last."""

    @property
    def title(self) -> str:
        """What a reader is told that the order comes from."""

    def rank(self, query: str, catalogue: Catalogue, *, kinds: Collection[Kind], limit: int) -> Ranked:
        """The best matches of these kinds. Scores never rise along the list; no query makes it fail."""
