"""Arguments bound to earlier results by their values: equal ones first, then parts of texts. The best one wins."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

from pflow.core.frozen import Frozen
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.leaf import MOST_LEAVES, leaves, named, says_enough, spell_path
from pflow.planning.learning.source import Produced, readings

Confidence = Literal["high", "medium", "low"]

_LONG_CHARACTERS = 8
"""From this length on, two equal texts are hardly chance."""

_PART_CHARACTERS = 5
"""Fewer characters inside of a longer text say nothing."""

_FURTHER = 0.9
"""What a step more between a result and its use takes from a score."""

_EXACT, _READ, _PART, _END = 1.0, 0.6, 0.5, 0.4
_CONTENT = ("content",)
_WHOLE_TEXTS = (("stdout",), ("content",), ("response",), ("result",))
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"\w")


class Candidate(Frozen):
    """Where a value may have come from. `text` is the part of an argument that it stands for."""

    source: Produced
    path: ValuePath
    text: str
    score: float
    confidence: Confidence
    is_end: bool = False
    """Whether it is only the last part of a path or an address."""

    @property
    def template(self) -> str:
        """The value as documents name it."""
        return f"${{{self.source.id}{spell_path(self.path)}}}"


class Choice(Frozen):
    """The best candidate; or, where several are as good, none and all of them."""

    best: Candidate | None = None
    tied: tuple[Candidate, ...] = ()


class _Indexed:
    """The scalars of one step's outputs by value."""

    def __init__(self, produced: Produced) -> None:
        self.produced = produced
        self.places: dict[tuple[type, object], list[ValuePath]] = {}
        self.ends: dict[str, list[ValuePath]] = {}
        for path, value in islice(leaves(seen_outputs(produced.outputs)), MOST_LEAVES):
            if isinstance(value, str | int | float) and value != "":
                self.places.setdefault((type(value), value), []).append(path)
            if isinstance(value, str) and "/" in value and not _SPACE.search(value):
                self.ends.setdefault(value.rstrip("/").rpartition("/")[2], []).append(path)


class Sources:
    """What earlier steps gave, to look values up in."""

    def __init__(self) -> None:
        self._steps: list[_Indexed] = []
        self._read: list[_Indexed] = []

    @property
    def produced(self) -> list[Produced]:
        """The steps, in order."""
        return [one.produced for one in self._steps]

    def add(self, produced: Produced) -> None:
        """One more step; its texts are looked into as well."""
        self._steps.append(_Indexed(produced))
        self._read += [_Indexed(reading) for reading in readings(produced)]

    def reading(self, name: str) -> Produced | None:
        """What a text holds when it is parsed, by the name of the step that would do so."""
        return next((one.produced for one in self._read if one.produced.id == name), None)

    def find(self, value: object, path: ValuePath) -> Choice:
        """The best source of a whole argument."""
        found = [*self._equal(self._steps, value, path, _EXACT), *self._equal(self._read, value, path, _READ)]
        if not found and path == _CONTENT:
            found = list(self._texts(str(value)))
        return _best(found or list(self._ends(value, path)))

    def _texts(self, content: str) -> Iterator[Candidate]:
        """All of what a step printed, which was written to a file as it was: however short, that is hardly chance."""
        text = content.rstrip("\n")
        for distance, one in enumerate(reversed(self._steps)):
            for place in one.places.get((str, text), ()) if not one.produced.is_loop else ():
                if place in _WHOLE_TEXTS:
                    yield Candidate(
                        source=one.produced, path=place, text=text, score=_FURTHER**distance, confidence="medium"
                    )

    def _ends(self, value: object, path: ValuePath) -> Iterator[Candidate]:
        """Names of files in paths, and what addresses end with."""
        text = str(value)
        is_telling = len(text) >= _LONG_CHARACTERS or any(char.isdigit() or char == "." for char in text)
        if isinstance(value, bool) or not isinstance(value, str | int) or not is_telling:
            return
        for distance, one in enumerate(reversed(self._steps)):
            for place in one.ends.get(text, ()) if not one.produced.is_loop else ():
                score = _END * math.log(1 + len(text)) / len(one.ends[text]) * _FURTHER**distance
                confidence: Confidence = "medium" if len(text) >= _PART_CHARACTERS else "low"
                yield Candidate(
                    source=one.produced, path=place, text=text, score=score, confidence=confidence, is_end=True
                )

    def inside(self, text: str, path: ValuePath) -> Choice:
        """The best source of a part of an argument: a value that stands in it between signs."""
        found: list[Candidate] = []
        for distance, one in enumerate(reversed(self._steps)):
            if one.produced.is_loop:
                continue
            for (kind, value), places in one.places.items():
                if kind is str and _stands_in(str(value), text):
                    found += _rated(one.produced, places, value, path, _PART, distance)
        return _best(found, longest=True)

    def _equal(
        self, steps: Sequence[_Indexed], value: object, path: ValuePath, exactness: float
    ) -> Iterator[Candidate]:
        for distance, one in enumerate(reversed(steps)):
            places = one.places.get((type(value), value), [])
            if not places and path[0] == "command" and str(value).isdigit():  # a command takes numbers as text
                places = one.places.get((int, int(str(value))), [])
            yield from _rated(one.produced, places, value, path, exactness, distance)


def seen_outputs(outputs: Mapping[str, object]) -> Mapping[str, object]:
    """Outputs without `result` where its fields stand beside it."""
    result = outputs.get("result")
    if isinstance(result, Mapping) and result and all(outputs.get(key) is result[key] for key in result):
        return {key: value for key, value in outputs.items() if key != "result"}
    return outputs


def _rated(
    source: Produced, places: Sequence[ValuePath], value: object, path: ValuePath, exactness: float, distance: int
) -> Iterator[Candidate]:
    good = [place for place in places if says_enough(value, path, place)]
    agreed = [place for place in good if named(place) == named(path)]
    length = len(str(value))
    for place in agreed or good:
        names_agree = bool(agreed)
        score = exactness * math.log(1 + length) / len(agreed or good) * _FURTHER**distance * (2 if names_agree else 1)
        sure = exactness == _EXACT and len(places) == 1 and (names_agree or length >= _LONG_CHARACTERS)
        likely = exactness >= _PART and (names_agree or length >= _LONG_CHARACTERS)
        confidence: Confidence = "high" if sure else "medium" if likely or exactness == _EXACT else "low"
        yield Candidate(source=source, path=place, text=str(value), score=score, confidence=confidence)


def _best(found: Sequence[Candidate], *, longest: bool = False) -> Choice:
    if not found:
        return Choice()
    ranked = sorted(found, key=lambda one: ((len(one.text) if longest else 0), one.score), reverse=True)
    first = ranked[0]
    tied = tuple(
        one
        for one in ranked
        if one.score == first.score and one.source.id == first.source.id and one.text == first.text
    )
    return Choice(best=first) if len(tied) == 1 else Choice(tied=tied)


def _stands_in(value: str, text: str) -> bool:
    if len(value) < _PART_CHARACTERS or len(value) >= len(text) or "\n" in value:
        return False
    at = text.find(value)
    if at < 0:
        return False
    end = at + len(value)
    return not (_WORD.match(text[at - 1 : at]) or _WORD.match(text[end : end + 1]))
