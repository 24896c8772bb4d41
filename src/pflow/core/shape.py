"""What can be known about a value before it exists: where a path leads in a declared type or JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.frozen import Frozen
from pflow.core.interface import Field

Schema = Mapping[str, object]
_MAX_REFS = 32


class DeadEnd(Frozen):
    """A path that cannot exist: how far it led, what is there, and what that has."""

    at: tuple[str | int, ...]
    wanted: str | int
    kind: str
    known: tuple[str, ...] = ()


def follow(field: Field, path: Sequence[str | int]) -> DeadEnd | None:
    """Where `path` into the field's value stops making sense, or None when it may exist."""
    schema: Schema = field.schema if field.schema is not None else {"type": field.type.split("|")}
    return _follow(schema, schema, tuple(path), 0)


def known_paths(schema: Schema) -> list[str]:
    """The properties an object schema names, with their types."""
    properties = _resolve(schema, schema).get("properties")
    if not isinstance(properties, Mapping):
        return []
    return [f"{name} ({kind_of(_resolve(schema, part))})" for name, part in properties.items()]


def kind_of(schema: object) -> str:
    """A schema's type in a word or two."""
    if not isinstance(schema, Mapping):
        return "any"
    kind = schema.get("type")
    if isinstance(kind, list):
        return "|".join(str(part) for part in kind)
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "any"


def _follow(root: Schema, schema: Schema, path: tuple[str | int, ...], depth: int) -> DeadEnd | None:
    for position in range(depth, len(path)):
        schema = _resolve(root, schema)
        choices = _choices(schema)
        if choices:
            ends = [_follow(root, choice, path, position) for choice in choices]
            return None if any(end is None for end in ends) else ends[0]
        key = path[position]
        kinds = _kinds(schema)
        if (not kinds or "any" in kinds) and "properties" not in schema and "items" not in schema:
            return None
        end = DeadEnd(at=path[:position], wanted=key, kind=kind_of(schema), known=tuple(known_paths(schema)))
        if isinstance(key, int):
            if kinds and not kinds & {"array", "any"}:
                return end
            schema = _part(schema.get("items"))
            continue
        if kinds and not kinds & {"object", "any"}:
            return end
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return None
        if key not in properties:
            return None if schema.get("additionalProperties") not in (None, False) else end
        schema = _part(properties[key])
    return None


def _part(schema: object) -> Schema:
    return schema if isinstance(schema, Mapping) else {}


def _kinds(schema: Schema) -> set[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {str(part) for part in kind}
    return set()


def _choices(schema: Schema) -> list[Schema]:
    for word in ("anyOf", "oneOf"):
        parts = schema.get(word)
        if isinstance(parts, list) and parts:
            return [_part(part) for part in parts]
    return []


def _resolve(root: Schema, schema: object) -> Schema:
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
