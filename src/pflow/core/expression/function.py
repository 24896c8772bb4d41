"""The functions of the language: what each takes and gives, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from pflow.core.expression import list_function as lists
from pflow.core.expression import moment
from pflow.core.expression.fault import Fault
from pflow.core.expression.regex import compiled
from pflow.core.expression.value import (
    CHARACTERS_A_STEP,
    INT64,
    Duration,
    Steps,
    Timestamp,
    bounded,
    describe,
    kind_of,
    timestamp_of,
)
from pflow.core.json_type import with_article


class Function(NamedTuple):
    """One function. `takes` are the kinds of its arguments; those from `least` on may be left out.

    A method has its first argument before the dot. `gives` is a kind, `same` for that of the first argument, or
    `element` for that of its elements. `is_odd`: it can give what JSON cannot hold.
    """

    call: Callable[..., object]
    takes: tuple[str, ...]
    gives: str
    least: int = -1
    is_method: bool = True
    is_function: bool = False
    is_odd: bool = False

    @property
    def fewest(self) -> int:
        """How many arguments it needs."""
        return len(self.takes) if self.least < 0 else self.least

    def accepts(self, position: int, kind: str) -> bool:
        """Whether an argument may be of a kind."""
        taken = self.takes[position]
        return taken == "any" or kind == "any" or kind in taken.split("|")


def call(name: str, arguments: Sequence[object], steps: Steps) -> object:
    """What a function gives; its cost grows with the size of its arguments."""
    function = FUNCTIONS[name]
    for position, value in enumerate(arguments):
        if not function.accepts(position, kind_of(value)):
            raise Fault("type", wrong_argument(name, position, describe(value)))
        if isinstance(value, str):
            steps.spend(len(value) // CHARACTERS_A_STEP)
    return function.call(steps, *arguments)


def wrong_argument(name: str, position: int, given: str) -> str:
    """The message about an argument of a kind that the function does not take."""
    function = FUNCTIONS[name]
    taken = " or ".join(with_article(kind) for kind in function.takes[position].split("|"))
    if function.is_method and not function.is_function and position == 0:
        return f"`{name}` is a function of {taken}, not of {given}"
    which = "" if len(function.takes) == 1 else f" as argument {position + (not function.is_method)}"
    return f"`{name}` takes {taken}{which}, not {given}"


# ---- strings


def _size(steps: Steps, value: str | Sequence[object] | Mapping[str, object]) -> int:
    return len(value)


def _starts_with(steps: Steps, text: str, part: str) -> bool:
    return text.startswith(part)


def _ends_with(steps: Steps, text: str, part: str) -> bool:
    return text.endswith(part)


def _contains(steps: Steps, text: str, part: str) -> bool:
    return part in text


def _matches(steps: Steps, text: str, pattern: str) -> bool:
    return compiled(pattern).search(text, steps)


_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _lower_ascii(steps: Steps, text: str) -> str:
    return text.translate(_LOWER)


def _upper_ascii(steps: Steps, text: str) -> str:
    return text.translate(_UPPER)


_BLANK = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space of Unicode; Python's `strip` takes some control characters as well."""


def _trim(steps: Steps, text: str) -> str:
    return text.strip(_BLANK)


def _replace(steps: Steps, text: str, old: str, new: str, count: int = -1) -> str:
    times = text.count(old) if count < 0 else min(count, text.count(old))
    steps.spend((len(text) + times * len(new)) // CHARACTERS_A_STEP)
    return text.replace(old, new, max(count, -1))


def _split(steps: Steps, text: str, separator: str, count: int = -1) -> list[str]:
    steps.spend(text.count(separator) if separator else len(text))
    if count == 0:
        return []
    if not separator:
        return [*text] or [""] if count < 0 or count >= len(text) else [*text[: count - 1], text[count - 1 :]]
    return text.split(separator, count - 1 if count > 0 else -1)


# ---- conversions


def _int(steps: Steps, value: str | int | float) -> int:
    if isinstance(value, Timestamp):
        return int(value) // moment.SECOND
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not isfinite(value) or not -INT64 < value < INT64:
            raise Fault("value", "a number is outside the range of 64-bit integers")
        return int(value)
    digits = value[1:] if value.startswith(("-", "+")) else value
    if not (digits.isascii() and digits.isdigit() and len(digits) < 30):
        raise Fault("value", "`int` of a string that is not a whole number", "for a fraction write `double(x)`")
    return bounded(int(value))


def _double(steps: Steps, value: str | int | float) -> float:
    try:
        if isinstance(value, str) and ("_" in value or value != value.strip() or not value.isascii()):
            raise ValueError(value)
        return float(value)
    except (ValueError, OverflowError):
        raise Fault("value", f"`double` of {describe(value)} that is not a number") from None


def _string(steps: Steps, value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case Timestamp():
            return moment.write_timestamp(value)
        case Duration():
            return moment.write_duration(value)
        case float():
            return write_double(value)
    return str(value)


def write_double(value: float) -> str:
    """A double as people write it: whole ones without a fraction, exponents only where they are far from 1."""
    if not isfinite(value):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(value), "NaN")
    if value == int(value) and abs(value) < 1e21:
        return f"{value:.0f}"
    text = repr(value)
    mantissa, has_exponent, exponent = text.partition("e")
    if not has_exponent:
        return text
    power = int(exponent)
    if -7 < power < 0:
        return f"{value:.{len(mantissa.lstrip('-').replace('.', '')) - 1 - power}f}"
    return f"{mantissa.removesuffix('.0')}e{power:+03d}"


_TRUE, _FALSE = {"1", "t", "true", "TRUE", "True"}, {"0", "f", "false", "FALSE", "False"}


def _bool(steps: Steps, value: str | bool) -> bool:
    if isinstance(value, bool):
        return value
    if value not in _TRUE | _FALSE:
        raise Fault("value", "`bool` of a string that is neither `true` nor `false`")
    return value in _TRUE


def _timestamp(steps: Steps, value: str | int) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    return moment.read_timestamp(value) if isinstance(value, str) else timestamp_of(value * moment.SECOND)


def _duration(steps: Steps, value: str | Duration) -> Duration:
    return value if isinstance(value, Duration) else moment.read_duration(value)


def _same(steps: Steps, value: object) -> object:
    return value


# ---- times


def _part(name: str) -> Callable[..., int]:
    def call_part(steps: Steps, value: Timestamp | Duration, zone: str = "UTC") -> int:
        if isinstance(value, Duration) and zone != "UTC":
            raise Fault("type", f"`{name}` of a duration takes no time zone")
        return moment.part_of(name, value, zone)

    return call_part


_DATE_PARTS = ("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear")
_TIME_PARTS = ("getHours", "getMinutes", "getSeconds", "getMilliseconds")

FUNCTIONS: Mapping[str, Function] = {
    "size": Function(_size, ("string|array|object",), "integer", is_function=True),
    "startsWith": Function(_starts_with, ("string", "string"), "boolean"),
    "endsWith": Function(_ends_with, ("string", "string"), "boolean"),
    "contains": Function(_contains, ("string", "string"), "boolean"),
    "matches": Function(_matches, ("string", "string"), "boolean", is_function=True),
    "lowerAscii": Function(_lower_ascii, ("string",), "string"),
    "upperAscii": Function(_upper_ascii, ("string",), "string"),
    "trim": Function(_trim, ("string",), "string"),
    "replace": Function(_replace, ("string", "string", "string", "integer"), "string", 3),
    "split": Function(_split, ("string", "string", "integer"), "strings", 2),
    "join": Function(lists.join, ("array", "string"), "string", 1),
    "sum": Function(lists.total, ("array",), "element", is_odd=True),
    "min": Function(lists.least, ("array",), "element"),
    "max": Function(lists.most, ("array",), "element"),
    "distinct": Function(lists.distinct, ("array",), "same"),
    "flatten": Function(lists.flatten, ("array", "integer"), "array", 1),
    "slice": Function(lists.cut, ("array", "integer", "integer"), "same"),
    "first": Function(lists.first, ("array", "integer"), "element", 1),
    "last": Function(lists.last, ("array", "integer"), "element", 1),
    "reverse": Function(lists.reverse, ("array|string",), "same"),
    "int": Function(_int, ("string|integer|number|timestamp",), "integer", is_method=False, is_function=True),
    "double": Function(_double, ("string|integer|number",), "number", is_method=False, is_function=True, is_odd=True),
    "string": Function(
        _string,
        ("string|integer|number|boolean|timestamp|duration",),
        "string",
        is_method=False,
        is_function=True,
    ),
    "bool": Function(_bool, ("string|boolean",), "boolean", is_method=False, is_function=True),
    "timestamp": Function(
        _timestamp, ("string|integer|timestamp",), "timestamp", is_method=False, is_function=True, is_odd=True
    ),
    "duration": Function(_duration, ("string|duration",), "duration", is_method=False, is_function=True, is_odd=True),
    "dyn": Function(_same, ("any",), "any", is_method=False, is_function=True),
    **{name: Function(_part(name), ("timestamp", "string"), "integer", 1) for name in _DATE_PARTS},
    **{name: Function(_part(name), ("timestamp|duration", "string"), "integer", 1) for name in _TIME_PARTS},
}

MACROS: Mapping[str, tuple[int, int]] = {
    "all": (2, 2),
    "exists": (2, 2),
    "exists_one": (2, 2),
    "filter": (2, 2),
    "map": (2, 3),
    "sortBy": (2, 2),
}
"""The macros, with how many arguments each takes at least and at most."""
