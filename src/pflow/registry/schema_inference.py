"""The JSON Schema of values that were seen: pure, bounded, and never stricter than what was looked at.

`merge` is a least upper bound, so the order in which values came does not matter. A schema says one of six things:

- `{"type": …, "properties": …, "required": …, "items": …}`: all of it was looked at; it has these fields and no others.
- `additionalProperties: true`: a map, whose keys are data; they are not kept.
- `{"type": "string", "x-json": …}`: text that holds JSON of that form. With `contentMediaType: text/plain` in
  place of that, it was looked at and held none.
- `{"const": null}`: only ever null, which says nothing of what else may come.
- `{"anyOf": [{}, seen]}`: not all of it was looked at; anything may be there, and `seen` was.
- `{}`: nothing is known.

An object without `properties` was empty whenever it was seen, an array without `items` as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache, reduce
from typing import cast

from pflow.core.schema_path import CONTENT, Schema

MAX_DEPTH = 12
"""Levels of nested arrays and objects."""

_MAX_WORK = 5_000
"""Steps of looking at one value."""

_MAX_PROPERTIES = 200
_LONGEST = 64
"""Characters of a key; longer ones are data."""

_MANY = 30
"""Of more distinct keys than this at least half must always be there, or they are data."""

_ALIKE_OBJECTS = 8
_ALIKE_SCALARS = 50
"""This many fields of one shape are the entries of a map."""

_ORDER = ("object", "array", "string", "number", "integer", "boolean", "null")
_NULL: Schema = {"const": None}
_ANY: Schema = {}
_PLAIN: Schema = {"type": "string", "contentMediaType": "text/plain"}
_MAP: Schema = {"type": "object", "additionalProperties": True}
_SCALARS: Mapping[type, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): _NULL,
}
_KINDS = frozenset(_SCALARS)
_NAME = re.compile(r"[@$#_]{0,2}[^\W\d]\w*(?:[:-]\w+)*")
_ID = re.compile(r"(?:\D*\d){4}|.*[-:]\d+\Z|(?=.*\d)(?:[0-9a-fA-F]{6,}\Z|.{16})")
_CODE = re.compile(r"[A-Z]{2,5}")


def infer(value: object) -> Schema:
    """The schema of one JSON value. The cost is bounded whatever the value's size."""
    return _Look().at(value, 0)


def infer_text(held: object | None) -> Schema:
    """The schema of text, by the JSON object or array that it holds; None if it holds none."""
    return _PLAIN if held is None else {"type": "string", CONTENT: infer(held)}


def merge(a: Schema, b: Schema) -> Schema:
    """The schema of everything that `a` and `b` were seen for."""
    if a is b or a == b:
        return a
    seen_a, seen_b = _seen(a), _seen(b)
    if seen_a is None or seen_b is None:
        return _partial(seen_a or seen_b)
    merged = _merge(seen_a, seen_b)
    return merged if seen_a is a and seen_b is b else _partial(merged)


def trim(schema: Schema, depth: int) -> Schema:
    """The schema with nothing said about what lies deeper than `depth`."""
    if not schema.keys() & {"properties", "items", "anyOf", CONTENT}:
        return schema
    if depth <= 0:
        return _ANY
    if "anyOf" in schema:
        return _partial(trim(_seen(schema) or _ANY, depth))
    parts: dict[str, object] = dict(schema)
    if "properties" in schema:
        parts["properties"] = {name: trim(part, depth - 1) for name, part in _properties(schema).items()}
    for word in ("items", CONTENT):
        if word in schema:
            parts[word] = trim(cast("Schema", schema[word]), depth - 1)
    return parts


def is_inferred(schema: object, depth: int = 0) -> bool:
    """Whether something that was read from a file has the form of what `infer` and `merge` give."""
    if not isinstance(schema, dict) or depth > 2 * MAX_DEPTH + 2:
        return False
    if not schema or schema == _NULL:
        return True
    if "anyOf" in schema:
        parts = schema["anyOf"]
        whole = isinstance(parts, list) and len(parts) == 2 and parts[0] == {} and len(schema) == 1
        return whole and bool(parts[1]) and "anyOf" not in parts[1] and is_inferred(parts[1], depth + 1)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if not kinds or not all(word in _ORDER for word in kinds):
        return False
    if "properties" in schema:
        properties, required = schema["properties"], schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list):
            return False
        if not all(isinstance(name, str) for name in required):
            return False
        if not all(_is_name(name) and is_inferred(part, depth + 1) for name, part in properties.items()):
            return False
    return all(is_inferred(schema[word], depth + 1) for word in ("items", CONTENT) if word in schema)


class _Look:
    """One look at one value. `left` is how much more of it may be looked at, in steps of about 300 ns."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MAX_WORK

    def at(self, value: object, depth: int) -> Schema:
        scalar = _SCALARS.get(type(value))
        if scalar is not None:
            return scalar
        if isinstance(value, dict):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return self._array(value, depth)
        return _ANY

    def _object(self, value: dict[str, object], depth: int) -> Schema:
        if not value:
            return {"type": "object"}
        if len(value) > _MAX_PROPERTIES or max(map(len, value)) > _LONGEST:
            return _MAP
        if depth >= MAX_DEPTH or self.left <= 0:
            return _partial({"type": "object"})
        self.left -= 1 + len(value)
        required = _names(tuple(value))
        if required is None:
            return _MAP
        properties: dict[str, Schema] = {}
        for name, part in value.items():
            properties[name] = _SCALARS.get(type(part)) or self.at(part, depth + 1)
        if len(properties) >= _ALIKE_OBJECTS and _are_alike(properties):
            return _MAP
        return {"type": "object", "properties": properties, "required": required}

    def _array(self, value: list[object] | tuple[object, ...], depth: int) -> Schema:
        if not value:
            return {"type": "array"}
        if depth >= MAX_DEPTH or self.left <= 0:
            return {"type": "array", "items": _ANY}
        whole = len(value) <= 16 * self.left
        # Types alone are looked at sixteen times as fast.
        kinds = set(map(type, value if whole else value[: 16 * self.left]))
        if kinds <= _KINDS:
            self.left -= 1 + len(value) // 16
            items: Schema | None = reduce(merge, (_SCALARS[kind] for kind in kinds))
        else:
            items, looked = self._items(value, depth)
            whole = whole and looked
        return {"type": "array", "items": _partial(items) if items is None or not whole else items}

    def _items(self, value: list[object] | tuple[object, ...], depth: int) -> tuple[Schema | None, bool]:
        """What the items have in common, and whether all of them were looked at."""
        items: Schema | None = None
        rows = set()
        for item in value:
            if self.left <= 0:
                return items, False
            if type(item) is dict and len(item) <= _MAX_PROPERTIES:
                # Rows of a table mostly look the same, which is quicker to see than to work out.
                kinds = tuple(map(type, item.values()))
                row = (tuple(item), kinds)
                if row in rows:
                    self.left -= 1 + len(kinds) // 8
                    continue
                if _KINDS.issuperset(kinds):
                    rows.add(row)
            self.left -= 1
            found = self.at(item, depth + 1)
            if items is None:
                items = found
            elif found != items:
                self.left -= 8
                items = merge(items, found)
        return items, True


def _merge(a: Schema, b: Schema) -> Schema:
    kinds_a, kinds_b = _kinds(a), _kinds(b)
    kinds = kinds_a | kinds_b
    if "number" in kinds:
        kinds.discard("integer")
    if len(b) == 1 and kinds == kinds_a:  # with nothing but a type, `b` adds nothing
        return a
    if len(a) == 1 and kinds == kinds_b:
        return b
    words = [word for word in _ORDER if word in kinds]
    merged: dict[str, object] = {"type": words if len(words) > 1 else words[0]}
    if "object" in kinds:
        _merge_objects(a, b, merged)
    if "array" in kinds:
        items = [cast("Schema", part["items"]) for part in (a, b) if "items" in part]
        if items:
            merged["items"] = merge(items[0], items[-1])
    held = [cast("Schema", part[CONTENT]) for part in (a, b) if CONTENT in part]
    if held:
        merged[CONTENT] = merge(held[0], held[-1])
    return merged


def _merge_objects(a: Schema, b: Schema, merged: dict[str, object]) -> None:
    if "additionalProperties" in a or "additionalProperties" in b:
        merged["additionalProperties"] = True
        return
    known = [part for part in (a, b) if "properties" in part]
    if not known:
        return
    properties, others = dict(_properties(known[0])), _properties(known[-1])
    for name, part in others.items():
        mine = properties.get(name)
        if mine is not part:
            properties[name] = part if mine is None else merge(mine, part)
    required, also = (cast("list[str]", part["required"]) for part in (known[0], known[-1]))
    if required != also:
        required = sorted(set(required).intersection(also))
    if len(properties) > _MAX_PROPERTIES or (len(properties) > _MANY and 2 * len(required) < len(properties)):
        merged["additionalProperties"] = True
        return
    merged["properties"] = properties
    merged["required"] = required


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type", "null")
    return {kind} if isinstance(kind, str) else set(cast("list[str]", kind))


def _properties(schema: Schema) -> Mapping[str, Schema]:
    return cast("Mapping[str, Schema]", schema["properties"])


def _partial(seen: Schema | None) -> Schema:
    return {"anyOf": [_ANY, seen]} if seen else _ANY


def _seen(schema: Schema) -> Schema | None:
    """What was seen, None if nothing was."""
    if "anyOf" in schema:
        return cast("list[Schema]", schema["anyOf"])[1]
    return schema or None


def _are_alike(properties: Mapping[str, Schema]) -> bool:
    first, *others = properties.values()
    if "properties" not in first and len(properties) < _ALIKE_SCALARS:
        return False
    return all(other == first for other in others)


@lru_cache(maxsize=1024)
def _names(keys: tuple[str, ...]) -> list[str] | None:
    """The keys, sorted, if they are names of fields; None if they are data."""
    if not all(map(_is_name, keys)) or all(map(_CODE.fullmatch, keys)):
        return None
    return sorted(keys)


@lru_cache(maxsize=4096)
def _is_name(key: str) -> bool:
    """Whether a key is a name, not an id, an address, a path, a number or a date."""
    return len(key) <= _LONGEST and _NAME.fullmatch(key) is not None and _ID.match(key) is None
