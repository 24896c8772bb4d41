"""Calls that step through one array become one step with a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pflow.core.frozen import Frozen
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.act import Act
from pflow.planning.learning.leaf import at, leaves, named, says_enough
from pflow.planning.learning.source import Column, Produced, columns, found_by_pattern, readings

_EDGES = "/ =:,"


class Loop(Frozen):
    """A loop over the elements of `column`: those at `used`, in order. `parts` is what stands around the field."""

    column: Column
    used: tuple[int, ...]
    parts: dict[ValuePath, tuple[str, ValuePath, str]]

    @property
    def is_whole(self) -> bool:
        """Whether every element has its turn, in the order of the array."""
        return self.used == tuple(range(len(self.column.values)))

    @property
    def is_sorted(self) -> bool:
        """Whether every element has its turn, in the order of the values."""
        values = self.column.values
        return len(self.used) == len(values) and [values[at] for at in self.used] == sorted(map(str, values))


def find_loop(acts: Sequence[Act], before: Sequence[Produced]) -> Loop | None:
    """How the differing arguments of calls come from an array of an earlier step, nearest first."""
    varying = _varying(acts)
    if not varying or len({str(sorted(act.params.items(), key=str)) for act in acts}) != len(acts):
        return None
    (path, texts), *others = varying.items()
    best: Loop | None = None
    for produced in reversed(before):
        for column in _candidates(produced, path, texts):
            found = _match(path, texts, column)
            if found is None or not _fits_others(found, others):
                continue
            if found.is_whole or found.is_sorted:
                return found
            best = best or found
    return best


def _candidates(produced: Produced, path: ValuePath, texts: Sequence[object]) -> Iterator[Column]:
    yield from columns(produced)
    for reading in readings(produced):
        yield from columns(reading)
    name = named(path) or "value"
    for cores in _cores([str(text) for text in texts]):
        yield from found_by_pattern(produced, cores, name)


def _varying(acts: Sequence[Act]) -> dict[ValuePath, list[object]]:
    """The arguments that differ, each with its value in every call."""
    paths = [path for path, _ in leaves(acts[0].params)]
    found = {path: [at(act.params, path) for act in acts] for path in paths}
    return {path: values for path, values in found.items() if len(set(map(str, values))) > 1}


def _cores(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts, then what is left of them after each sign that all have in common at their beginning."""
    yield list(texts)
    common = 0
    while all(len(text) > common and text[common] == texts[0][common] for text in texts):
        common += 1
    for cut in range(common):
        if texts[0][cut] in _EDGES:
            yield [text[cut + 1 :] for text in texts]


def _match(path: ValuePath, texts: Sequence[object], column: Column) -> Loop | None:
    values = column.values
    if len(values) < len(texts) or not all(says_enough(text, path, column.field) for text in texts):
        return None
    places = {value: index for index, value in reversed(list(enumerate(values))) if isinstance(value, str | int)}
    if all(isinstance(text, str | int) and text in places for text in texts):
        used = tuple(places[text] for text in texts if isinstance(text, str | int))
        return Loop(column=column, used=used, parts={path: ("", column.field, "")})
    first = str(texts[0])
    inside = [value for value in values if isinstance(value, str) and len(value) >= 4 and value in first]
    for value in sorted(inside, key=len, reverse=True):
        left, _, right = first.partition(value)
        cores = [str(text).removeprefix(left).removesuffix(right) for text in texts]
        around = all(f"{left}{core}{right}" == str(text) for core, text in zip(cores, texts, strict=True))
        if around and all(core in places for core in cores):
            used = tuple(places[core] for core in cores)
            return Loop(column=column, used=used, parts={path: (left, column.field, right)})
    return None


def _fits_others(loop: Loop, others: Sequence[tuple[ValuePath, list[object]]]) -> bool:
    """Add what the other arguments take from the same elements; False if one of them takes nothing."""
    for path, texts in others:
        for column in columns(loop.column.source):
            if column.array == loop.column.array:
                found = _match(path, texts, column)
                if found is not None and found.used == loop.used:
                    loop.parts.update(found.parts)
                    break
        else:
            return False
    return True
