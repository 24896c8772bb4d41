"""What the functions of lists do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise

from pflow.core.expression.fault import Fault
from pflow.core.expression.value import (
    CHARACTERS_A_STEP,
    Steps,
    arithmetic,
    comparable,
    compare,
    describe,
    equal,
    kind_of,
)

List = Sequence[object]


def join(steps: Steps, items: List, separator: str = "") -> str:
    """The strings of a list as one."""
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        other = next(item for item in items if not isinstance(item, str))
        raise Fault(
            "type",
            f"`join` takes a list of strings; in this one is {describe(other)}",
            "convert them: `x.map(i, string(i)).join(', ')`",
        )
    steps.spend(len(items) + (sum(map(len, texts)) + len(separator) * len(items)) // CHARACTERS_A_STEP)
    return separator.join(texts)


def total(steps: Steps, items: List) -> object:
    """The sum of numbers or durations; 0 for none."""
    steps.spend(len(items))
    for item in items:
        if kind_of(item) not in ("integer", "number", "duration"):
            raise Fault(
                "type", f"`sum` takes a list of numbers; in this one is {describe(item)}", *_field_hint("sum", item)
            )
    if not items:
        return 0
    found = items[0]
    for item in items[1:]:
        found = arithmetic("+", found, item, steps)
    return found


def least(steps: Steps, items: List) -> object:
    """The smallest element."""
    return _extreme(steps, items, "min", "<")


def most(steps: Steps, items: List) -> object:
    """The largest element."""
    return _extreme(steps, items, "max", ">")


def _extreme(steps: Steps, items: List, name: str, operator: str) -> object:
    steps.spend(len(items))
    _not_empty(items, name, "0")
    _have_order(items, name)
    found = items[0]
    for item in items[1:]:
        if compare(operator, item, found):
            found = item
    return found


def _have_order(items: List, name: str) -> None:
    for one, other in pairwise(items if len(items) > 1 else [*items, *items]):
        if not comparable(kind_of(one), kind_of(other)):
            message = f"`{name}` takes a list of numbers, or of strings"
            which = f"{describe(one)} and {describe(other)}" if kind_of(one) != kind_of(other) else describe(one)
            raise Fault("type", f"{message}; in this one is {which}", *_field_hint(name, one))


def _field_hint(name: str, item: object) -> tuple[str, ...]:
    return (f"name the field: `x.map(i, i.price).{name}()`",) if kind_of(item) == "object" else ()


def distinct(steps: Steps, items: List) -> list[object]:
    """The list without repetitions, each value where it was first."""
    found: list[object] = []
    scalars: set[tuple[str, object]] = set()
    others: list[object] = []
    for item in items:
        steps.spend(1)
        kind = kind_of(item)
        if kind in ("array", "object"):
            if any(equal(item, other, steps) for other in others):
                continue
            others.append(item)
        else:
            key = ("number" if kind == "integer" else kind, item)
            if key in scalars:
                continue
            scalars.add(key)
        found.append(item)
    return found


def flatten(steps: Steps, items: List, depth: int = 1) -> list[object]:
    """The list with the elements of the lists in it, `depth` levels deep."""
    if depth < 0:
        raise Fault("value", "`flatten` takes a depth that is not negative")
    found = [*items]
    for _ in range(depth):
        steps.spend(len(found))
        if not any(kind_of(item) == "array" for item in found):
            return found
        flat: list[object] = []
        for item in found:
            if isinstance(item, list | tuple):
                steps.spend(len(item))
                flat.extend(item)
            else:
                flat.append(item)
        found = flat
    return found


def cut(steps: Steps, items: List, start: int, end: int) -> list[object]:
    """The elements from `start` up to `end`; past the end of the list there are none, which CEL calls an error."""
    if start < 0 or end < start:
        raise Fault(
            "value", "`slice` goes from a lower index to a higher one, counted from 0", "the last two are `x.last(2)`"
        )
    steps.spend(max(0, min(end, len(items)) - start))
    return [*items[start:end]]


def first(steps: Steps, items: List, count: int | None = None) -> object:
    """The first element, or the first `count` as a list."""
    if count is None:
        return _not_empty(items, "first", "null")[0]
    return cut(steps, items, 0, _not_negative(count, "first"))


def last(steps: Steps, items: List, count: int | None = None) -> object:
    """The last element, or the last `count` as a list."""
    if count is None:
        return _not_empty(items, "last", "null")[-1]
    return cut(steps, items, max(0, len(items) - _not_negative(count, "last")), len(items))


def _not_empty(items: List, name: str, other: str) -> List:
    if not items:
        raise Fault("value", f"`{name}` of an empty list", f"ask first: `size(x) > 0 ? x.{name}() : {other}`")
    return items


def _not_negative(count: int, name: str) -> int:
    if count < 0:
        raise Fault("value", f"`{name}` takes a number of elements that is not negative")
    return count


def reverse(steps: Steps, items: List | str) -> list[object] | str:
    """A list or a string from its end to its beginning."""
    if isinstance(items, str):
        return items[::-1]
    steps.spend(len(items))
    return [*reversed(items)]


def sort_by(steps: Steps, items: List, keys: List) -> list[object]:
    """The list in the order of the keys, one for each element; equal ones stay as they are."""
    steps.spend(len(items) * max(1, len(items).bit_length()))
    _have_order(keys, "sortBy")

    def order(one: int, other: int) -> int:
        return compare(">", keys[one], keys[other]) - compare("<", keys[one], keys[other])

    return [items[place] for place in sorted(range(len(items)), key=cmp_to_key(order))]
