"""Values as expressions see them: their kinds, equality, order and arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import copysign, inf, isfinite, nan
from operator import ge, gt, le, lt

from pflow.core.expression.fault import Fault
from pflow.core.json_type import with_article

MOST_STEPS = 1_000_000
CHARACTERS_A_STEP = 64
"""Text that is copied costs a step for so many characters; it bounds memory as well as time."""

INT64 = 1 << 63


class Timestamp(int):
    """A moment, in nanoseconds since 1970-01-01T00:00:00Z."""


class Duration(int):
    """A length of time, in nanoseconds."""


class JsonText(str):
    """Text that is followed like the JSON that it holds."""

    __slots__ = ("_read",)
    _read: Callable[[str], object | None]

    def __new__(cls, text: str, read: Callable[[str], object | None]) -> JsonText:
        """The text, and how to read it; None where it holds no object or array."""
        made = super().__new__(cls, text)
        made._read = read
        return made

    def opened(self) -> object:
        """What the text holds, the text itself if that is nothing to follow."""
        held = self._read(self)
        return str(self) if held is None else held


class Steps:
    """What one evaluation may still cost."""

    __slots__ = ("left",)

    def __init__(self, left: int = MOST_STEPS) -> None:
        self.left = left

    def spend(self, count: int) -> None:
        """Count work that grows with a value."""
        self.left -= count
        if self.left < 0:
            message = f"the expression takes more than {MOST_STEPS:,} steps over these values"
            raise Fault("limit", message, "filter the list in a step before this one, or use a `code` step")


_KINDS: Mapping[type, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    dict: "object",
    Timestamp: "timestamp",
    Duration: "duration",
    JsonText: "string",
}

ORDERED = frozenset(("integer", "number", "string", "boolean", "timestamp", "duration"))
NUMBERS = frozenset(("integer", "number"))
_SIMPLE = frozenset((int, str, float, bool))
"""Types whose values compare as Python compares them, when both are of the same."""

_ORDER: Mapping[str, Callable[..., bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def kind_of(value: object) -> str:
    """The word for a value's type."""
    found = _KINDS.get(type(value))
    if found:
        return found
    return "object" if isinstance(value, Mapping) else "array" if isinstance(value, Sequence) else "any"


def describe(value: object) -> str:
    """A value's kind in a sentence; the value may be secret."""
    return with_article(kind_of(value))


# ---- equality and order


def equal(one: object, other: object, steps: Steps) -> bool:
    """Deep equality. Values of different kinds are never equal, except that an integer may equal a double."""
    if type(one) is type(other) and type(one) in _SIMPLE and not isinstance(one, str):
        return one == other
    waiting = [(one, other)]
    while waiting:
        left, right = waiting.pop()
        steps.spend(1)
        kind = kind_of(left)
        if kind != kind_of(right):
            if not _same_number(left, right):
                return False
        elif isinstance(left, str) and isinstance(right, str):
            if len(left) != len(right):
                return False
            steps.spend(len(left) // CHARACTERS_A_STEP)
            if left != right:
                return False
        elif isinstance(left, Mapping) and isinstance(right, Mapping):
            if left.keys() != right.keys():
                return False
            waiting.extend((left[key], right[key]) for key in left)
        elif isinstance(left, Sequence) and isinstance(right, Sequence):
            if len(left) != len(right):
                return False
            waiting.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def _same_number(left: object, right: object) -> bool:
    """Whether an integer and a double are equal, by the rule that `<` goes by too."""
    if (
        {kind_of(left), kind_of(right)} != NUMBERS
        or not isinstance(left, int | float)
        or not isinstance(right, int | float)
    ):
        return False
    return left == right or (abs(left) <= INT64 and abs(right) <= INT64 and float(left) == float(right))


def compare(operator: str, left: object, right: object) -> bool:
    """`<`, `<=`, `>` or `>=`."""
    if type(left) is type(right) and type(left) in _SIMPLE:
        return _ORDER[operator](left, right)
    kinds = kind_of(left), kind_of(right)
    if not comparable(*kinds):
        message = f"`{operator}` needs two numbers, strings, booleans, timestamps or durations"
        raise Fault(
            "type", f"{message}, not {with_article(kinds[0])} and {with_article(kinds[1])}", *conversions(kinds)
        )
    if kinds[0] != kinds[1] and isinstance(left, int | float) and isinstance(right, int | float):
        left, right = _double(left), _double(right)  # as CEL compares an integer with a double
    return _ORDER[operator](left, right)


def comparable(left: str, right: str) -> bool:
    """Whether values of two kinds have an order."""
    return (left == right and left in ORDERED) or (left in NUMBERS and right in NUMBERS)


def conversions(kinds: tuple[str, str]) -> tuple[str, ...]:
    """How values of two kinds could be brought together."""
    found = {"string", *NUMBERS}.intersection(kinds)
    if "null" in kinds:
        return ("ask first: `x != null && …`",)
    if "string" in found and len(found) == 2:
        number = "int" if "integer" in found else "double"
        return (f"convert one of them: `{number}(x)` or `string(x)`",)
    for kind in ("timestamp", "duration"):
        if kind in kinds and "string" in kinds:
            return (f"convert the string: `{kind}(x)`",)
    return ()


# ---- arithmetic


def arithmetic(operator: str, left: object, right: object, steps: Steps, *, doubles: bool = False) -> object:
    """`+`, `-`, `*`, `/` or `%`; an integer with a double gives a double, and with `doubles` two integers do too."""
    kind = kind_of(left)
    other = kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        assert isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "%" and (doubles or "number" in (kind, other)):
            raise Fault("type", "`%` needs two integers, not a number with a fraction", "convert it: `int(x)`")
        if isinstance(left, int) and isinstance(right, int) and not doubles:
            return _whole(operator, left, right)
        return _fraction(operator, _double(left), _double(right))
    if operator in "+-" and (moment := _time(operator, kind, other, left, right)) is not None:
        return moment
    if operator == "+" and kind == other:
        if isinstance(left, str) and isinstance(right, str):
            steps.spend((len(left) + len(right)) // CHARACTERS_A_STEP)
            return left + right
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            steps.spend(len(left) + len(right))
            return [*left, *right]
    raise Fault("type", no_arithmetic(operator, kind, other), *conversions((kind, other)))


def no_arithmetic(operator: str, left: str, right: str) -> str:
    """The message about an operator that does not take values of these kinds."""
    needs = {
        "+": "two numbers, strings or lists, or times",
        "-": "two numbers, or times",
        "%": "two integers",
    }.get(operator, "two numbers")
    return f"`{operator}` needs {needs}, not {with_article(left)} and {with_article(right)}"


def negative(value: object) -> int | float:
    """`-value`."""
    if type(value) is int:
        return bounded(-value)
    if type(value) is float:
        return -value
    raise Fault("type", f"`-` needs a number, not {describe(value)}")


def bounded(value: int) -> int:
    """An integer that fits 64 bits."""
    if -INT64 <= value < INT64:
        return value
    raise Fault("value", "the result is outside the range of 64-bit integers", "use doubles: `double(x)`")


def divide(left: int, right: int) -> int:
    """Whole division that drops the remainder, towards zero."""
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _whole(operator: str, left: int, right: int) -> int:
    if operator in "/%" and right == 0:
        raise Fault("value", f"`{operator}` by zero", "ask first: `y != 0 ? x / y : 0`")
    match operator:
        case "+":
            return bounded(left + right)
        case "-":
            return bounded(left - right)
        case "*":
            return bounded(left * right)
        case "/":
            return bounded(divide(left, right))
    return left - right * bounded(divide(left, right))


def _double(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of a value that does not fit in 64 bits
        raise Fault("value", "a number is too large to compute with") from None


def _fraction(operator: str, left: float, right: float) -> float:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
    if right:
        return left / right
    if left == 0 or left != left:
        return nan
    return copysign(inf, left) * copysign(1.0, right)


_TIMES = {
    ("+", "timestamp", "duration"): "timestamp",
    ("+", "duration", "timestamp"): "timestamp",
    ("+", "duration", "duration"): "duration",
    ("-", "timestamp", "timestamp"): "duration",
    ("-", "timestamp", "duration"): "timestamp",
    ("-", "duration", "duration"): "duration",
}


def arithmetic_kind(operator: str, left: str, right: str) -> str | None:
    """The kind of what an operator gives for two kinds; None where it does not take them."""
    if left in NUMBERS and right in NUMBERS:
        if operator == "%":
            return "integer" if left == right == "integer" else None
        return "number" if "number" in (left, right) else "integer"
    if operator == "+" and left == right and left in ("string", "array"):
        return left
    return _TIMES.get((operator, left, right))


def _time(operator: str, kind: str, other: str, left: object, right: object) -> Timestamp | Duration | None:
    gives = _TIMES.get((operator, kind, other))
    if gives is None or not isinstance(left, int) or not isinstance(right, int):
        return None
    found = int(left) + int(right) if operator == "+" else int(left) - int(right)
    return timestamp_of(found) if gives == "timestamp" else duration_of(found)


EARLIEST, LATEST = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1
"""The moments from the year 1 to the year 9999."""


def timestamp_of(nanoseconds: int) -> Timestamp:
    """A moment in the years that have four digits."""
    if not EARLIEST <= nanoseconds <= LATEST:
        raise Fault("value", "a timestamp is between the years 1 and 9999")
    return Timestamp(nanoseconds)


def duration_of(nanoseconds: int) -> Duration:
    """A length of time of at most 292 years."""
    if not -INT64 <= nanoseconds < INT64:
        raise Fault("value", "a duration is at most 292 years long")
    return Duration(nanoseconds)


def is_odd(value: object) -> bool:
    """Whether a number is infinite or not a number, which JSON cannot hold."""
    return type(value) is float and not isfinite(value)
