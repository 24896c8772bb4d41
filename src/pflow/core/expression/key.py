"""Follows keys into values, and says why there is nothing at a key."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.expression.fault import Fault
from pflow.core.expression.spelling import field_hint
from pflow.core.expression.tree import Key, Path, key_text
from pflow.core.expression.value import JsonText, describe
from pflow.core.frozen import Frozen
from pflow.core.suggest import nearest
from pflow.core.text_hint import parse_path_hint

_SUGGESTED_KEYS = 1000
"""Keys of an object that are compared with one that it lacks."""


class Absent(Frozen):
    """Stands where a value would be, if the step that gives it was skipped, not reached, or failed.

    `reason` is a sentence about the step: "`fetch` was skipped, because `page.count > 0` was false".
    """

    reason: str


ABSENT = Absent(reason="")
MISSING = object()
"""What no value is."""


def inside(value: object, key: Key, node: Path, count: int) -> object:
    """The value at the key number `count` of a path."""
    if value.__class__ is dict or isinstance(value, Mapping):
        assert isinstance(value, Mapping)
        found = value.get(key, MISSING)
        if found is not MISSING:
            return found
    elif isinstance(key, int) and isinstance(value, list | tuple):
        if key < len(value):
            return value[key]
    elif isinstance(value, JsonText):
        return inside(value.opened(), key, node, count)
    elif isinstance(value, Absent):
        raise no_value(node, value)
    raise _dead_end(value, key, node.text_to(count), node.at)


def no_value(node: Path, absent: Absent) -> Fault:
    """Why a path leads to something absent."""
    asked = node.text if node.keys else f"steps.{node.name}"
    message = f"`{node.text}` is absent: {absent.reason}"
    return Fault("absent", message, f"ask first: `has({asked}) ? {node.text} : …`", at=node.at)


def _dead_end(value: object, key: Key, text: str, at: int) -> Fault:
    """Why a value has nothing at a key. `text` is how the value is written."""
    whole = text + key_text(key)
    if isinstance(value, Mapping):
        if isinstance(key, int):
            return Fault("absent", f"`{text}` is an object and has no element {key}", f"write `{text}['{key}']`", at=at)
        known = [name for name, _ in zip(value, range(_SUGGESTED_KEYS), strict=False) if isinstance(name, str)]
        near = nearest(key, known, limit=1)
        hints = [f"did you mean `{text}{key_text(near[0])}`?"] if near else []
        hints.append(
            f"if it may be missing, ask first: `has({whole}) && {whole} != null`, `has({whole}) ? {whole} : …`"
        )
        return Fault("absent", f"`{text}` has no `{key}`", *hints, at=at)
    if isinstance(value, list | tuple) and isinstance(key, int):
        hint = f"ask first: `size({text}) > {key}`; the last element is `{text}.last()`"
        return Fault("value", f"`{text}` has {_elements(len(value))}, so there is no `{whole}`", hint, at=at)
    if isinstance(value, list | tuple):
        hint = (
            field_hint(str(key), text)
            or f"name an element: `{text}[0]{key_text(key)}`, or all: `{text}.map(i, i{key_text(key)})`"
        )
        return Fault("type", f"`{text}` is an array and has no field `{key}`", hint, at=at)
    if value is None:
        return Fault("type", f"`{text}` is null and has no `{key}`", f"ask first: `{text} != null && …`", at=at)
    hint = field_hint(str(key), text) if isinstance(value, str) else ""
    if isinstance(value, str) and not hint:
        hint = parse_path_hint(text)
    return Fault("type", f"`{text}` is {describe(value)} and has no `{key}`", hint, at=at)


def _elements(count: int) -> str:
    return "no elements" if not count else "1 element" if count == 1 else f"{count:,} elements"


def keyed(value: object, key: Key, at: int) -> object:
    """The value at a key of a value that is not a path."""
    if isinstance(value, Mapping):
        found = value.get(key, MISSING)
        if isinstance(found, Absent):
            raise Fault("absent", f"`{key}` is absent: {found.reason}", at=at)
        if found is not MISSING:
            return found
    elif isinstance(key, int) and isinstance(value, list | tuple) and 0 <= key < len(value):
        return value[key]
    elif isinstance(value, JsonText):
        return keyed(value.opened(), key, at)
    if isinstance(key, int) and key < 0:
        raise Fault("value", f"there is no element {key}", "count from 0; the last element is `x.last()`", at=at)
    raise _dead_end(value, key, "…", at)


def exists(value: object, key: Key, at: int) -> bool:
    """Whether an object has a key; what is absent has none."""
    if isinstance(value, Mapping):
        return not isinstance(value.get(key, ABSENT), Absent)
    if isinstance(value, Absent):
        return False
    if isinstance(value, JsonText):
        return exists(value.opened(), key, at)
    raise Fault("type", f"`has` asks for a field of an object, not of {describe(value)}", at=at)
