"""Whether a value is what a test expects: equal to it, or to the matchers in it.

A matcher is an object: `{"~": REGEX}` for text, `{"type": KIND}`, `{"size": N}`, or the last two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.expression.fault import Fault
from pflow.core.expression.regex import compiled
from pflow.core.expression.value import Steps
from pflow.core.frozen import Frozen
from pflow.core.json_type import type_of

Path = tuple[str | int, ...]

KINDS = ("string", "integer", "number", "boolean", "array", "object", "null")
_SHAPE = frozenset(("type", "size"))
_SEARCH_STEPS = 1 << 40
"""What a search may cost: its time grows with the text alone, and recorded texts can be long."""


class Missing(Frozen):
    """Stands for a value that is not there."""


MISSING = Missing()


class Mismatch(Frozen):
    """Where a value is not what is expected; `why` says what a matcher found, where there is one."""

    path: Path
    expected: object
    actual: object
    why: str = ""


def is_matcher(value: object) -> bool:
    """Whether an object of a test is a matcher and not a value to be equal to."""
    if not isinstance(value, Mapping) or not value:
        return False
    return set(value) == {"~"} or (value.keys() <= _SHAPE and ("type" not in value or value["type"] in KINDS))


def check_matchers(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with the matchers in an expected value: the place of each, and why."""
    if isinstance(value, Mapping):
        if set(value) == {"~"}:
            yield from _check_regex(value["~"], (*path, "~"))
            return
        if is_matcher(value) and "size" in value:
            size = value["size"]
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                yield (*path, "size"), "`size` must be an integer from 0 on"
            return
        for name, part in value.items():
            yield from check_matchers(part, (*path, str(name)))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from check_matchers(part, (*path, index))


def _check_regex(pattern: object, path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(pattern, str):
        yield path, "`~` must be a regular expression, in quotes"
        return
    try:
        compiled(pattern)
    except Fault as fault:
        yield path, f"the regular expression cannot be read: {fault.message}"


def mismatches(expected: object, actual: object, path: Path = ()) -> Iterator[Mismatch]:
    """Everything in which a value is not what is expected, in the order in which that was written."""
    if is_matcher(expected) and isinstance(expected, Mapping):
        why = _unmatched(expected, actual)
        if why:
            yield Mismatch(path=path, expected=expected, actual=actual, why=why)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name, part in expected.items():
            yield from mismatches(part, actual.get(name, MISSING), (*path, str(name)))
        for name, part in actual.items():
            if name not in expected:
                yield Mismatch(path=(*path, str(name)), expected=MISSING, actual=part)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index in range(max(len(expected), len(actual))):
            one = expected[index] if index < len(expected) else MISSING
            other = actual[index] if index < len(actual) else MISSING
            if one is MISSING:
                yield Mismatch(path=(*path, index), expected=MISSING, actual=other)
            else:
                yield from mismatches(one, other, (*path, index))
    elif isinstance(expected, bool) is not isinstance(actual, bool) or expected != actual:
        yield Mismatch(path=path, expected=expected, actual=actual)


def _unmatched(matcher: Mapping[str, object], actual: object) -> str:
    """Why a value is not what a matcher asks for; "" if it is."""
    if actual is MISSING:
        return "it is not there"
    if "~" in matcher:
        if not isinstance(actual, str):
            return f"it is {_described(actual)}, and a regular expression matches text"
        return "" if compiled(str(matcher["~"])).search(actual, Steps(_SEARCH_STEPS)) else "the pattern is not in it"
    wanted, kind = matcher.get("type"), type_of(actual)
    if wanted is not None and kind != wanted and not (wanted == "number" and kind == "integer"):
        return f"it is {_described(actual)}"
    if "size" in matcher:
        if not isinstance(actual, str | list | Mapping):
            return f"it is {_described(actual)}, which has no size"
        if len(actual) != matcher["size"]:
            return f"its size is {len(actual)}"
    return ""


def _described(value: object) -> str:
    kind = type_of(value)
    return "null" if kind == "null" else f"{'an' if kind[0] in 'aio' else 'a'} {kind}"
