"""What is known of the type of a value that does not exist yet. Where anything is unclear, nothing is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice

from pflow.core.frozen import Frozen
from pflow.core.interface import Field
from pflow.core.json_type import type_of
from pflow.core.schema_path import CONTENT, SEEN, Schema, calls_seen, choices_of, resolve

_MOST_VALUES = 100
_MOST_APART = 8
"""Elements of a constant that are each looked into; of more, only their types count."""

_MOST_LOOKED_AT = 2_000
_DEEPEST = 8
Path = tuple[str | int, ...]

_KINDS = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
_PARSED = frozenset(("object", "array", "string"))
"""What is declared for text that is parsed if it is JSON; a number or a boolean is JSON as well."""


class ValueType(Frozen):
    """The schemas that a value may have, one of them; none where nothing is known.

    References in them lead into `root`. `seen` is in how many calls that was seen, 0 where it was declared. What is
    not `certain` was only said of the value: nothing makes sure of it.
    """

    choices: tuple[Schema, ...] = ()
    root: Mapping[str, object] = {}
    seen: int = 0
    certain: bool = True

    @property
    def kinds(self) -> frozenset[str] | None:
        """The types of JSON that it can have; None where any is possible."""
        if not self.choices:
            return None
        found: set[str] = set()
        for choice in self.choices:
            kinds = _kinds(choice)
            if kinds is None:
                return None
            found |= kinds
        return None if not found or found >= _PARSED else frozenset(found)

    @property
    def values(self) -> tuple[object, ...] | None:
        """The only values that it can have, where those are known."""
        found: list[object] = []
        for choice in self.choices:
            values = [choice["const"]] if "const" in choice else choice.get("enum")
            if not isinstance(values, list):
                return None
            found += values
        return tuple(found) or None

    @property
    def held(self) -> ValueType | None:
        """The type of the JSON that a text holds; None for what is not such a text."""
        if not self.choices or any(CONTENT not in choice for choice in self.choices):
            return None
        return self._replace(choices=_flat([choice[CONTENT] for choice in self.choices], self.root))

    def at(self, path: Sequence[str | int]) -> ValueType:
        """The type of what is at a path inside the value."""
        if not self.choices:
            return self
        found = self
        for key in path:
            inside = [_inside(choice, key) for choice in found.choices]
            inner = [schema for schema in inside if schema is not False]  # what cannot hold it is not what it is
            seen = max(map(calls_seen, inner), default=0) or found.seen
            found = found._replace(choices=_flat(inner, self.root), seen=seen)
        return found

    @property
    def is_array(self) -> bool:
        """Whether it is known to be an array, or null."""
        return (self.kinds or frozenset()) - {"null"} == {"array"}

    @property
    def elements(self) -> ValueType:
        """The type of each element of an array."""
        return self.at((0,))

    @property
    def names(self) -> frozenset[str]:
        """The fields that are known by name in an object."""
        found: set[str] = set()
        for choice in self.choices:
            properties = choice.get("properties")
            found.update(properties if isinstance(properties, Mapping) else ())
        return frozenset(found)


UNKNOWN = ValueType()


def of_schema(schema: Schema, root: Schema | None = None) -> ValueType:
    """The type that a schema describes; its references lead into `root`, else into itself."""
    whole = schema if root is None else root
    return ValueType(choices=_flat([schema], whole), root=whole, seen=calls_seen(whole))


@cache
def of_kinds(kinds: str) -> ValueType:
    """The type that the document's words name: `integer`, `array|string`."""
    return UNKNOWN if "any" in kinds else ValueType(choices=({"type": kinds.split("|")},))


def of_field(field: Field) -> ValueType:
    """The type of a parameter or an output."""
    if field.schema is None:
        return of_kinds(field.type)
    described = of_schema(field.schema)
    if described.kinds is not None or field.type == "any":
        return described
    if len(described.choices) == 1 and described.choices[0] is field.schema:
        return described._replace(choices=({**field.schema, "type": field.type.split("|")},))
    return of_kinds(field.type)._replace(seen=described.seen)


def of_fields(fields: Mapping[str, ValueType]) -> ValueType:
    """The type of an object with these fields and no others."""
    properties = {name: as_schema(field) for name, field in fields.items()}
    return of_schema({"type": "object", "properties": properties, "additionalProperties": False})


def as_schema(one: ValueType) -> Schema:
    """The schema of a type as far as it can stand for itself; {} for what was only said of it."""
    choices = [_alone(choice, one.root) for choice in one.choices]
    if not choices or not one.certain:
        return {}
    if one.seen:
        choices = [{**choice, SEEN: one.seen} for choice in choices]
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def of_literal(value: object, parts: Mapping[Path, ValueType] | None = None) -> ValueType:
    """The type of a value that a document holds, with parts in it whose type is known and not the value."""
    known = {path: {} if part.seen or not part.certain else _typed(part.kinds) for path, part in (parts or {}).items()}
    return of_schema(_described(value, (), known))


def union(types: Sequence[ValueType]) -> ValueType:
    """The type of a value that has one of the types."""
    if any(not one.choices for one in types):
        return UNKNOWN
    choices = tuple(_alone(choice, one.root) for one in types for choice in one.choices)
    seen = max((one.seen for one in types), default=0)
    return ValueType(choices=choices, seen=seen, certain=all(one.certain for one in types))


def _alone(schema: Schema, root: Schema) -> Schema:
    """A schema that stands without its root: of one that may refer to it, only the type."""
    if not root or not {"properties", "items", "additionalProperties"} & schema.keys() or not _refers(schema):
        return schema
    return _typed(_kinds(schema))


def _refers(schema: Schema) -> bool:
    """Whether there is a reference in a schema, or may be: of a very large one not all is looked at."""
    waiting: list[object] = [schema]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return False
        part = waiting.pop()
        if isinstance(part, Mapping):
            if "$ref" in part or "$dynamicRef" in part:
                return True
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return bool(waiting)


def _typed(kinds: frozenset[str] | None) -> Schema:
    return {"type": sorted(kinds)} if kinds is not None else {}


def _joined(schemas: Sequence[Schema]) -> frozenset[str] | None:
    kinds = [_kinds(schema) for schema in schemas]
    return None if None in kinds else frozenset().union(*(kind for kind in kinds if kind is not None))


def _described(value: object, path: Path, known: Mapping[Path, Schema]) -> Schema:
    if path in known:
        return known[path]
    if isinstance(value, Mapping):
        if len(path) >= _DEEPEST:
            return {"type": "object"}
        fields = islice(value.items(), _MOST_VALUES)
        return {"type": "object", "properties": {name: _described(part, (*path, name), known) for name, part in fields}}
    if isinstance(value, list | tuple):
        if not value or len(path) >= _DEEPEST or len(value) > _MOST_VALUES:
            return {"type": "array"}
        items = [_described(item, (*path, index), known) for index, item in enumerate(value)]
        return {"type": "array", "items": {"anyOf": items} if len(items) <= _MOST_APART else _typed(_joined(items))}
    return {"enum": [value]}


def _flat(schemas: Sequence[object], root: Schema) -> tuple[Schema, ...]:
    """The schemas with references and choices resolved; nothing if one of them says nothing, or there are too many."""
    found = list(islice((part for schema in schemas for part in _leaves(schema, root, 0)), _MOST_VALUES + 1))
    if len(found) > _MOST_VALUES or any(not part for part in found):
        return ()
    return tuple(found)


def _leaves(schema: object, root: Schema, depth: int) -> Iterator[Schema]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        yield {}
        return
    found = resolve(root, schema)
    choices = choices_of(found)
    if not choices:
        yield found
    for choice in choices[: _MOST_VALUES + 1]:
        yield from _leaves(choice, root, depth + 1)


def _kinds(schema: Schema) -> frozenset[str] | None:
    """The types of JSON that a resolved schema admits; None where it does not say."""
    values = schema.get("enum")
    if isinstance(values, list) and 0 < len(values) <= _MOST_VALUES:
        return frozenset(map(type_of, values)) & _KINDS
    if schema.get("const") is not None:
        return frozenset((type_of(schema["const"]),))
    named = schema.get("type")
    kinds = frozenset(map(str, named if isinstance(named, list) else (named,)))
    return kinds if kinds <= _KINDS and kinds != {"null"} else None


def _inside(schema: Schema, key: str | int) -> object:
    """The schema of one field or element; None where it is not known, False where there cannot be one."""
    kinds = (_kinds(schema) or frozenset()) - {"null"}
    if kinds == {"array"} and isinstance(key, int):
        return None if "prefixItems" in schema else schema.get("items")
    if kinds != {"object"}:
        return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and str(key) in properties:
        return properties[str(key)]
    return None if "patternProperties" in schema else schema.get("additionalProperties")
