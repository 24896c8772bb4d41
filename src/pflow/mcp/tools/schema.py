"""What the JSON Schema of a tool says in the document's own terms: types, parameters, and prose. Checks no values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import orjson

from pflow.core.json_type import object_in
from pflow.mcp.tools.text import describe_value

Schema = Mapping[str, object]
_Key = tuple[str, str]

_ORDER = ("string", "integer", "number", "boolean", "array", "object")
_ALL = frozenset((*_ORDER, "null"))
_NAMED = {name: frozenset((name,)) for name in (*_ORDER, "null")} | {"number": frozenset(("number", "integer"))}
_OF_VALUE = {
    str: _NAMED["string"],
    bool: _NAMED["boolean"],
    int: _NAMED["integer"],
    float: _NAMED["number"],
    list: _NAMED["array"],
    dict: _NAMED["object"],
    type(None): _NAMED["null"],
}
_DECIDING = frozenset(("$ref", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items", "nullable"))
_DEEPEST = 32
_MOST_VISITS = 20_000
_MOST_VALUES = 1_000
_MOST_CUT_OUT = 64 << 10
_DEFINITIONS = re.compile(rb'"\$ref":"#/(\$defs|definitions)/([^"/\\]+)"')
_REFERENCE = b'"$ref":'


class Parameters(NamedTuple):
    """What a tool takes: the schema of each parameter, and which must be there.

    `openness` says whether others are admitted, None where the schema leaves it unsaid.
    """

    schemas: dict[str, object]
    required: frozenset[str]
    openness: bool | None
    names_any: bool

    @property
    def is_open(self) -> bool:
        """Whether others are admitted; unsaid, they are where no parameter has a name."""
        return self.openness if self.openness is not None else not self.names_any

    def join(self, other: Parameters) -> Parameters:
        """Both together, apart from what is required; what was found first stays."""
        for name, schema in other.schemas.items():
            self.schemas.setdefault(name, schema)
        openness = other.openness if self.openness is None else self.openness
        return self._replace(openness=openness, names_any=self.names_any or other.names_any)


class SchemaReader:
    """Reads one schema from its root. Whatever is in it: what cannot be understood, or is too much, is `any`."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._visits = _MOST_VISITS
        self._room = _MOST_CUT_OUT
        self._definitions: dict[_Key, tuple[int, list[_Key] | None]] = {}

    def type_of(self, schema: object) -> str:
        """One of the document's types or a union of them. That a value may be null as well is not part of it."""
        return _spelled(self._kinds(schema, 0))

    def is_nullable(self, schema: object) -> bool:
        """Whether null is among the values that the schema names."""
        return "null" in self._kinds(schema, 0)

    @property
    def is_exhausted(self) -> bool:
        """Whether there was too much to read."""
        return self._visits < 0

    def parameters(self) -> Parameters:
        """What an object of the root schema can hold."""
        return self._gather(self.root, 0)

    def prose_of(self, schema: object) -> str:
        """What a parameter means and which values it takes, in one line."""
        if not isinstance(schema, dict):
            return ""
        whole = {**self._target(schema), **schema} if "$ref" in schema else schema
        return describe_value(whole)

    def find(self, reference: str) -> object:
        """What a reference inside the document leads to; others are not followed."""
        if reference != "#" and not reference.startswith("#/"):
            return None
        found: object = self.root
        for part in reference[2:].split("/")[:_DEEPEST] if len(reference) > 1 else ():
            found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
        return found

    def visit(self) -> bool:
        """Count one more part that is looked at; False once there were too many."""
        self._visits -= 1
        return self._visits >= 0

    def cut_out(self, schema: object) -> Schema | None:
        """A part of the root that stands for itself, with the definitions it needs.

        None where it refers to places that a part does not have, and once the parts together became too large.
        """
        if not isinstance(schema, dict) or not self._room:
            return None
        data = orjson.dumps(schema)
        size = len(data)
        needed: dict[_Key, None] = {}
        waiting = [_references(data)]
        while waiting:
            keys = waiting.pop()
            if keys is None:
                return None
            for key in keys:
                if key not in needed:
                    needed[key] = None
                    inner = self._definition(key)
                    size += inner[0]
                    waiting.append(inner[1])
            if size > self._room:
                self._room = 0
                return None
        self._room -= size
        part: dict[str, object] = dict(schema)
        for table in dict.fromkeys(table for table, _ in needed):
            found = self._table(table)
            part[table] = {name: found[name] for kind, name in needed if kind == table and name in found}
        return part

    def _definition(self, key: _Key) -> tuple[int, list[_Key] | None]:
        """The size of a definition, and those that it needs itself."""
        known = self._definitions.get(key)
        if known is None:
            data = orjson.dumps(self._table(key[0]).get(key[1]))
            known = self._definitions[key] = (len(data), _references(data))
        return known

    def _table(self, name: str) -> Schema:
        return object_in(self.root, name)

    def _kinds(self, schema: object, depth: int) -> frozenset[str]:
        """The kinds of JSON values that fit; all of them where nothing is known."""
        self._visits -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._visits < 0:
            return _ALL
        if _DECIDING.isdisjoint(schema):
            return _named(schema.get("type"))
        kinds = _ALL
        if isinstance(reference := schema.get("$ref"), str):
            kinds &= self._kinds(self.find(reference), depth + 1)
        kinds &= _named(schema.get("type"))
        if isinstance(values := schema.get("enum"), list) and 0 < len(values) <= _MOST_VALUES:
            self._visits -= len(values) // 10
            kinds &= frozenset().union(*(_OF_VALUE.get(type(value), _ALL) for value in values))
        if "const" in schema:
            kinds &= _OF_VALUE.get(type(schema["const"]), _ALL)
        for word in ("anyOf", "oneOf"):
            if parts := _parts(schema.get(word)):
                kinds &= frozenset().union(*(self._kinds(part, depth + 1) for part in parts))
        for part in _parts(schema.get("allOf")):
            kinds &= self._kinds(part, depth + 1)
        if kinds == _ALL:
            kinds = _NAMED["object"] if "properties" in schema else _NAMED["array"] if "items" in schema else _ALL
        if schema.get("nullable") is True:
            kinds |= _NAMED["null"]
        return kinds or _ALL

    def _gather(self, schema: object, depth: int) -> Parameters:
        self._visits -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._visits < 0:
            return Parameters({}, frozenset(), None, False)
        properties = object_in(schema, "properties")
        self._visits -= len(properties)
        names = schema.get("required")
        own = Parameters(
            dict(properties),
            frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset(),
            _openness(schema),
            isinstance(schema.get("properties"), dict),
        )
        together = list(_parts(schema.get("allOf")))
        if isinstance(reference := schema.get("$ref"), str):
            together.append(self.find(reference))
        for part in together:
            other = self._gather(part, depth + 1)
            own = own.join(other)._replace(required=own.required | other.required)
        for word in ("anyOf", "oneOf"):
            choices = [self._gather(part, depth + 1) for part in _parts(schema.get(word))]
            if choices:
                always = frozenset.intersection(*(choice.required for choice in choices))
                own = own._replace(required=own.required | always)
                for choice in choices:
                    own = own.join(choice)
        return own

    def _target(self, schema: Schema) -> Schema:
        for _ in range(_DEEPEST):
            if not isinstance(reference := schema.get("$ref"), str):
                break
            found = self.find(reference)
            schema = found if isinstance(found, dict) else {}
        return schema


@cache
def _spelled(kinds: frozenset[str]) -> str:
    named = [name for name in _ORDER if name in kinds and not (name == "integer" and "number" in kinds)]
    return "any" if not named or len(named) == len(_ORDER) - 1 else "|".join(named)


def _references(data: bytes) -> list[_Key] | None:
    """The definitions that a schema refers to; None if it refers to anything else."""
    found = _DEFINITIONS.findall(data)
    if len(found) != data.count(_REFERENCE):
        return None
    return [(table.decode(), name.decode()) for table, name in found]


def _openness(schema: Schema) -> bool | None:
    others = schema.get("additionalProperties")
    if others is True or isinstance(others, dict) or object_in(schema, "patternProperties"):
        return True
    return False if others is False else None


def _named(named: object) -> frozenset[str]:
    if isinstance(named, list):
        return frozenset().union(*map(_named, named)) or _ALL
    return _NAMED.get(named, _ALL) if isinstance(named, str) else _ALL


def _parts(value: object) -> list[object]:
    return value if isinstance(value, list) else []
