"""How a value that is set joins the one before it, in the same run or from others. Knows no runs and no storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

import orjson

from pflow.core.document.document import StateKey
from pflow.core.document.state_key import MOST_BYTES

Sets = Mapping[str, Mapping[str, object]]
"""What was set: values by key, by scope."""


def join(key: StateKey, earlier: object, later: object) -> object:
    """What two values become of which one was set after the other; None before stands for nothing.

    A union drops its oldest elements when it has more than `keep`, or more than there is room for in one value.
    """
    if key.merge == "union":
        return _union(key.keep, earlier, later)
    if earlier is None or not key.merge:
        return later
    if key.merge == "add" and isinstance(earlier, int | float) and isinstance(later, int | float):
        return earlier + later
    return max(earlier, later)  # type: ignore[call-overload]


def join_sets(keys: Mapping[str, Mapping[str, StateKey]], earlier: Sets, later: Sets) -> Sets:
    """What was set first and what was set after it, as if it had been set at once."""
    if not earlier:
        return later
    joined = {scope: dict(values) for scope, values in earlier.items()}
    for scope, values in later.items():
        mine, declared = joined.setdefault(scope, {}), keys.get(scope, {})
        for name, value in values.items():
            mine[name] = join(declared.get(name, StateKey()), mine.pop(name, None), value)
    return joined


def _union(keep: int, earlier: object, later: object) -> object:
    if isinstance(later, Mapping):
        before: Mapping[str, object] = earlier if isinstance(earlier, Mapping) else {}
        members = {name: value for name, value in before.items() if name not in later} | dict(later)
        sizes = [len(orjson.dumps([name, value])) for name, value in members.items()]
        return dict(islice(members.items(), len(members) - _room(sizes, keep), None))
    if not isinstance(later, list):
        return later
    found: dict[bytes, object] = {}
    for element in (*(earlier if isinstance(earlier, list) else ()), *later):
        mark = orjson.dumps(element, option=orjson.OPT_SORT_KEYS)
        found.pop(mark, None)  # what comes again is as new as its last coming
        found[mark] = element
    count = _room([len(mark) + 1 for mark in found], keep)
    return list(islice(found.values(), len(found) - count, None))


def _room(sizes: Iterable[int], keep: int) -> int:
    """How many of the newest elements, which come last, there is room for."""
    room, count = MOST_BYTES - len("[]"), 0
    for size in reversed(list(sizes)):
        room -= size
        if room < 0 or count == keep:
            break
        count += 1
    return count
