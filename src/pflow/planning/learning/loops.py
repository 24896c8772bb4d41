"""Calls that step through one array become one step with a batch."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from pflow.core.frozen import Frozen
from pflow.core.template.compiled import ValuePath
from pflow.planning.learning.act import Act
from pflow.planning.learning.around import Around, find_around, find_arounds
from pflow.planning.learning.leaf import at, leaves, named, says_enough, spell_path
from pflow.planning.learning.source import Column, Produced, columns, found_by_pattern, readings

_SHORTEST_TEXT = 4
_SMALLEST_NUMBER = 100


class Part(Frozen):
    """What an argument takes from an element: the field, and what stands around it."""

    field: ValuePath
    around: Around = Around()


class Loop(Frozen):
    """A loop over the elements of `column`: those at `used`, in order. `parts` is what each argument takes of one."""

    column: Column
    used: tuple[int, ...]
    parts: dict[ValuePath, Part]

    @property
    def is_whole(self) -> bool:
        """Whether every element has its turn, in the order of the array."""
        return self.used == tuple(range(len(self.column.values)))

    @property
    def condition(self) -> str:
        """An expression over `item` that is true of the elements that have a turn, and of no other; "" if none is.

        Their turns must be in the order of the array.
        """
        return _condition(self.column, self.used) if list(self.used) == sorted(set(self.used)) else ""

    @property
    def has_rule(self) -> bool:
        """Whether it is known which elements have their turns."""
        return self.is_whole or self.is_sorted or bool(self.condition) or self.is_first

    @property
    def is_first(self) -> bool:
        """Whether the first elements have their turns, in the order of the array."""
        return self.used == tuple(range(len(self.used)))

    @property
    def is_sorted(self) -> bool:
        """Whether every element has its turn, in the order of the values."""
        values = self.column.values
        return len(self.used) == len(values) and [values[at] for at in self.used] == sorted(map(str, values))


def find_loop(acts: Sequence[Act], before: Sequence[Produced]) -> Loop | None:
    """How the differing arguments of calls come from an array of an earlier step, nearest first."""
    differing = varying(acts)
    if not differing or len({str(sorted(act.params.items(), key=str)) for act in acts}) != len(acts):
        return None
    (path, texts), *others = differing.items()
    best: Loop | None = None
    for produced in reversed(before):
        for column in _candidates(produced, path, texts):
            found = _match(path, texts, column)
            if found is None or not _fits_others(found, others):
                continue
            if found.is_whole or found.is_sorted:
                return found
            is_better = best is None or (bool(found.condition) and not best.condition)
            best = found if is_better else best
    return best


def _condition(column: Column, used: Sequence[int]) -> str:
    elements = at(column.source.outputs, column.array)
    if not isinstance(elements, Sequence) or isinstance(elements, str):
        return ""
    fields = {field for element in elements[:3] for field, _ in leaves(element)}
    for field in sorted(fields, key=lambda one: (len(one), str(one))):
        values = [at(element, field) for element in elements]
        inside = [value for index, value in enumerate(values) if index in set(used)]
        outside = [value for index, value in enumerate(values) if index not in set(used)]
        name = f"item{spell_path(field)}"
        found = _equality(name, inside, outside) or _comparison(name, inside, outside) or _ending(name, inside, outside)
        if found:
            return found
    return _unequal(elements, fields, used)


def _unequal(elements: Sequence[object], fields: Collection[ValuePath], used: Collection[int]) -> str:
    """What all elements without a turn have in common, if there are several, and none with a turn has."""
    for field in sorted(fields, key=lambda one: (len(one), str(one))):
        inside = [at(element, field) for index, element in enumerate(elements) if index in used]
        outside = [at(element, field) for index, element in enumerate(elements) if index not in used]
        found = _equality(f"item{spell_path(field)}", outside, inside) if len(outside) > 1 else ""
        if " == " in found:
            return found.replace(" == ", " != ", 1)
    return ""


def _equality(name: str, inside: Sequence[object], outside: Sequence[object]) -> str:
    first = inside[0]
    if all(value is None for value in inside) and None not in outside:
        return f"{name} == null"
    if not isinstance(first, str | int) or any(value != first or type(value) is not type(first) for value in inside):
        return ""
    if first in outside:
        return ""
    if isinstance(first, bool):
        return name if first else f"!{name}"
    return f"{name} == {json.dumps(first)}"


def _comparison(name: str, inside: Sequence[object], outside: Sequence[object]) -> str:
    numbers = [value for value in (*inside, *outside) if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) != len(inside) + len(outside) or not outside:
        return ""
    own, other = numbers[: len(inside)], numbers[len(inside) :]
    if min(own) > max(other):
        return f"{name} >= {min(own)}"
    return f"{name} <= {max(own)}" if max(own) < min(other) else ""


def _ending(name: str, inside: Sequence[object], outside: Sequence[object]) -> str:
    """Names of files by the end of their name."""
    ends = {str(value)[str(value).rfind(".") :] if "." in str(value) else "" for value in inside}
    if not all(isinstance(value, str) for value in (*inside, *outside)) or len(ends) != 1 or ends == {""}:
        return ""
    end = ends.pop()
    return "" if any(str(value).endswith(end) for value in outside) else f"{name}.endsWith({json.dumps(end)})"


def _candidates(produced: Produced, path: ValuePath, texts: Sequence[object]) -> Iterator[Column]:
    yield from columns(produced)
    for reading in readings(produced):
        yield from columns(reading)
    name = "value" if named(path) in ("command", "") else named(path)
    shown = [str(text) for text in texts]
    for around in [Around(), *find_arounds(shown)]:
        yield from found_by_pattern(produced, [around.value_in(text) for text in shown], name)


def varying(acts: Sequence[Act]) -> dict[ValuePath, list[object]]:
    """The arguments that differ, each with its value in every call."""
    paths = [path for path, _ in leaves(acts[0].params)]
    found = {path: [at(act.params, path) for act in acts] for path in paths}
    return {path: values for path, values in found.items() if len(set(map(str, values))) > 1}


def _match(path: ValuePath, texts: Sequence[object], column: Column) -> Loop | None:
    values = column.values
    enough = (says_enough(int(str(text)) if _is_number(text) else text, path, column.field) for text in texts)
    if len(values) < len(texts) or not all(enough):
        return None
    if path[0] == "command":  # which takes numbers as text
        values = [str(value) if isinstance(value, int) and not isinstance(value, bool) else value for value in values]
        texts = [str(text) for text in texts]
    places = {value: index for index, value in reversed(list(enumerate(values))) if isinstance(value, str | int)}
    if all(isinstance(text, str | int) and text in places for text in texts):
        used = tuple(places[text] for text in texts if isinstance(text, str | int))
        return Loop(column=column, used=used, parts={path: Part(field=column.field)})
    if not all(isinstance(text, str) for text in texts):
        return None
    shown = [str(text) for text in texts]
    named_at = {str(value): index for value, index in places.items() if _may_stand_inside(value)}
    for value in sorted((value for value in named_at if value in shown[0]), key=len, reverse=True):
        around = find_around(shown, value)
        if around is not None and all(around.value_in(text) in named_at for text in shown):
            used = tuple(named_at[around.value_in(text)] for text in shown)
            return Loop(column=column, used=used, parts={path: Part(field=column.field, around=around)})
    return None


def _may_stand_inside(value: object) -> bool:
    """Whether a value that stands inside of an argument is hardly there by chance."""
    if isinstance(value, str):
        return len(value) >= _SHORTEST_TEXT or (value.isdigit() and int(value) >= _SMALLEST_NUMBER)
    return isinstance(value, int) and not isinstance(value, bool) and value >= _SMALLEST_NUMBER


def _is_number(text: object) -> bool:
    return isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 19


def _fits_others(loop: Loop, others: Sequence[tuple[ValuePath, list[object]]]) -> bool:
    """Add what the other arguments take from the same elements; False if one of them takes nothing."""
    for path, texts in others:
        part = part_of(loop, path, texts)
        if part is None:
            return False
        loop.parts[path] = part
    return True


def part_of(loop: Loop, path: ValuePath, texts: Sequence[object]) -> Part | None:
    """What an argument takes from the elements of a loop; None if it takes nothing."""
    for column in columns(loop.column.source):
        if column.array == loop.column.array:
            found = _match(path, texts, column)
            if found is not None and found.used == loop.used:
                return found.parts[path]
    return None
