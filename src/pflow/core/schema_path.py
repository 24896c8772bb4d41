"""Follows paths into values that do not exist yet, by their declared type or JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import orjson

from pflow.core.frozen import Frozen
from pflow.core.interface import Field
from pflow.core.json_type import type_of

Schema = Mapping[str, object]

SEEN = "x-seen"
"""The keyword of a schema that was observed, not declared: in how many calls."""

CONTENT = "x-json"
"""The keyword of a string's schema for the JSON that it holds: a path leads into that. Foreign schemas do not have it:
for them there is `contentSchema`, and such text is not read."""

_MAX_REFS = 32
"""References that follow one another."""

_MAX_STEPS = 500
"""Steps into one schema: a foreign schema can refer to itself without end."""

_MAX_PATHS = 200
_MAX_CHOICES = 8
_MAX_DEPTH = 12
"""Limits of a list of paths: its lines, choices of one schema, and levels."""


class DeadEnd(Frozen):
    """A path that cannot exist: how far it led, what is there, and what that has.

    `seen` is in how many calls that was seen, 0 where it was declared.
    """

    at: tuple[str | int, ...]
    wanted: str | int
    kind: str
    known: tuple[str, ...] = ()
    seen: int = 0


def follow(field: Field, path: Sequence[str | int]) -> DeadEnd | None:
    """Where `path` into the field's value stops making sense, or None when it may exist."""
    schema: Schema = field.schema if field.schema is not None else {"type": field.type.split("|")}
    return _follow(schema, schema, tuple(path), 0, 0, iter(range(_MAX_STEPS)))


def known_paths(schema: Schema, root: Schema | None = None) -> list[str]:
    """The properties an object schema names, with their types; references lead into `root`, else into itself."""
    whole = schema if root is None else root
    properties = resolve(whole, schema).get("properties")
    if not isinstance(properties, Mapping):
        return []
    return [f"{name} ({kind_of(resolve(whole, part), whole)})" for name, part in properties.items()]


def paths(schema: Schema, root: str = "result") -> list[str]:
    """What a template can name in a value of this schema, with types: `result.commits[0].sha  string`.

    A long list is cut and ends in `…`.
    """
    return _listed(_schema_paths(schema, schema, root, 0, iter(range(4 * _MAX_STEPS))))


def paths_of(value: object, root: str = "result") -> list[str]:
    """What a template can name in this value, with types; the first item of an array stands for all."""
    return _listed(_value_paths(value, root, 0))


def kind_of(schema: object, root: Schema | None = None) -> str:
    """A schema's type in a word or two; references in its choices lead into `root`."""
    if not isinstance(schema, Mapping):
        return "any"
    if choices := choices_of(schema):
        kinds = dict.fromkeys(_word(resolve(root or {}, choice)) for choice in choices)
        return "|".join(word for word in kinds if word != "any") or "any"
    return _word(schema)


def key_step(name: str) -> str:
    """A key as templates write it behind a path: `.name`, or `["a name"]`."""
    if name.replace("-", "_").replace("_", "x").isalnum():
        return f".{name}"
    whole = name.encode(errors="replace").decode()  # half a surrogate pair cannot be written in a template
    return f"[{orjson.dumps(whole).decode()}]"


def _follow(
    root: Schema, schema: Schema, path: tuple[str | int, ...], depth: int, seen: int, steps: Iterator[int]
) -> DeadEnd | None:
    for position in range(depth, len(path)):
        if next(steps, None) is None:
            return None
        schema = resolve(root, schema)
        seen = calls_seen(schema) or seen
        if CONTENT in schema:
            schema = _part(schema[CONTENT])
        choices = choices_of(schema)
        if choices:
            ends = [_follow(root, choice, path, position, seen, steps) for choice in choices]
            return None if None in ends else ends[0]
        key = path[position]
        kinds = _kinds(schema)
        is_any = not kinds or "any" in kinds
        properties = schema.get("properties")
        if is_any and "properties" not in schema and "items" not in schema:
            return None
        if isinstance(key, int) and (is_any or "array" in kinds):
            if "object" in kinds and (not isinstance(properties, Mapping) or str(key) in properties):
                return None
            schema = _part(schema.get("items"))
            continue
        if is_any or "object" in kinds:
            name = str(key)  # `[0]` into an object is its field "0"
            if not isinstance(properties, Mapping):
                return None
            if name in properties:
                schema = _part(properties[name])
                continue
            if schema.get("additionalProperties") not in (None, False):
                return None
        known = tuple(known_paths(schema, root))
        return DeadEnd(at=path[:position], wanted=key, kind=kind_of(schema, root), known=known, seen=seen)
    return None


def calls_seen(schema: object) -> int:
    """In how many calls a schema was seen; 0 for one that was declared."""
    calls = schema.get(SEEN) if isinstance(schema, Mapping) else None
    return calls if isinstance(calls, int) else 0


def count_calls(calls: int) -> str:
    """A number of calls in words."""
    return f"{calls:,} call" if calls == 1 else f"{calls:,} calls"


def _word(schema: Schema) -> str:
    if kinds := _kinds(schema):
        return "|".join(kinds)
    if "const" in schema and schema["const"] is None:
        return "null"
    return "object" if "properties" in schema else "any"


def _listed(lines: Iterator[str]) -> list[str]:
    found = list(islice(lines, _MAX_PATHS + 1))
    return found if len(found) <= _MAX_PATHS else [*found[:_MAX_PATHS], "…"]


def _schema_paths(root: Schema, schema: object, path: str, depth: int, steps: Iterator[int]) -> Iterator[str]:
    part = resolve(root, schema)
    properties = part.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    keyed = not properties and part.get("additionalProperties") not in (None, False)
    yield f"{path}  {kind_of(part, root)}{' (any keys)' if keyed else ' that holds JSON' if part.get(CONTENT) else ''}"
    if depth >= _MAX_DEPTH or next(steps, None) is None:
        return
    if part.get(CONTENT):
        yield from islice(_schema_paths(root, part[CONTENT], path, depth + 1, steps), 1, None)
    for name, inner in properties.items():
        yield from _schema_paths(root, inner, path + key_step(str(name)), depth + 1, steps)
    if "items" in part:
        yield from _schema_paths(root, part["items"], f"{path}[0]", depth + 1, steps)
    for choice in choices_of(part)[:_MAX_CHOICES]:
        yield from islice(_schema_paths(root, choice, path, depth + 1, steps), 1, None)


def _value_paths(value: object, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield f"{path}  object"
        for name in value if depth < _MAX_DEPTH else ():
            yield from _value_paths(value[name], path + key_step(str(name)), depth + 1)
    elif isinstance(value, list | tuple):
        yield f"{path}  array of {len(value)}"
        for item in value[:1] if depth < _MAX_DEPTH else ():
            yield from _value_paths(item, f"{path}[0]", depth + 1)
    else:
        yield f"{path}  {type_of(value)}"


def _part(schema: object) -> Schema:
    return schema if isinstance(schema, Mapping) else {}


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type")
    return [str(part) for part in kind] if isinstance(kind, list) else [kind] if isinstance(kind, str) else []


def choices_of(schema: Schema) -> list[Schema]:
    """The alternatives of a schema; none if it has no choice."""
    for word in ("anyOf", "oneOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and parts:
            return [_part(part) for part in parts]
    return []


def resolve(root: Schema, schema: object) -> Schema:
    """What a schema stands for, its references followed into `root`; {} where they lead out of it or nowhere."""
    current = _part(schema)
    for _ in range(_MAX_REFS):
        reference = current.get("$ref")
        if not isinstance(reference, str):
            return current
        if not reference.startswith("#/"):
            return {}
        target: object = root
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        current = _part(target)
    return {}
