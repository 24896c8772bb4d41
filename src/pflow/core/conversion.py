"""Which values become a value of another type without loss, and how: the one rule for templates in every place.

Only scalars are converted. Text that holds JSON stays text: whether it was meant to be read is for its author to say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import orjson

from pflow.core.json_type import type_of

_NUMBER = r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?"
_WHOLE = r"[+-]?[0-9]{1,20}"
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
"""Integers beyond these are not JSON that others can read."""

_WORDS = {"true": True, "false": False}
_ORDER = ("integer", "number", "boolean", "string")

ALWAYS = {"integer": frozenset(("string",)), "number": frozenset(("string",)), "boolean": frozenset(("string",))}
"""By type, what every value of it becomes."""

AT_TIMES = {"string": frozenset(("integer", "number", "boolean")), "number": frozenset(("integer",))}
"""By type, what some values of it become: text that reads as one, and numbers without a fraction."""


def admits(kinds: Iterable[str], kind: str) -> bool:
    """Whether a value of the type `kind` is a value of one of `kinds` as it stands."""
    return kind in kinds or (kind == "integer" and "number" in kinds)


def convert(value: object, kinds: frozenset[str]) -> object:
    """The value as one of `kinds`; itself if it is one already, or cannot become one without loss."""
    kind = type_of(value)
    if admits(kinds, kind):
        return value
    for wanted in _ORDER:
        if wanted in kinds:
            found = _as(value, kind, wanted)
            if found is not None:
                return found
    return value


def _as(value: object, kind: str, wanted: str) -> object:
    """The value as the type `wanted`; None if it is none."""
    if isinstance(value, str):
        return _read(value.strip(), wanted)
    if not isinstance(value, bool | int | float) or not _LEAST <= value <= _MOST:
        return None
    if wanted == "integer":
        return int(value) if isinstance(value, float) and value.is_integer() else None
    return orjson.dumps(value).decode() if wanted in ALWAYS.get(kind, ()) else None


def _read(text: str, wanted: str) -> object:
    if wanted == "boolean":
        return _WORDS.get(text)
    if wanted in ("integer", "number") and re.fullmatch(_WHOLE, text):
        whole = int(text)
        return whole if _LEAST <= whole <= _MOST else None
    if wanted == "number" and re.fullmatch(_NUMBER, text):
        number = float(text)
        return number if math.isfinite(number) else None
    return None
