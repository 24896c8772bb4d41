"""Whether a tool is still the one that was synced, by what its server's configuration counts as a change. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.json_type import object_in
from pflow.mcp.server.config import ServerConfig

_PROSE = frozenset(("title", "description", "default", "examples", "example", "$comment", "markdownDescription"))
"""Words of a schema that decide nothing about which values fit."""

_BY_NAME = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_UNORDERED = frozenset(("required", "enum", "type", "anyOf", "oneOf", "allOf"))
_VALUES = frozenset(("enum", "const", "required", "type"))


def is_same(server: ServerConfig, old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether two definitions of a tool are the same as far as this server's changes count."""
    return server.compare == "schema" and has_same_schema(old, new)


def has_same_schema(old: Mapping[str, object], new: Mapping[str, object]) -> bool:
    """Whether two definitions differ in nothing but prose, defaults and the order of what has no order."""
    return _canonical(old) == _canonical(new)


def _canonical(definition: Mapping[str, object]) -> bytes:
    """A definition without its prose. Annotations count: they decide whether a call may be repeated."""
    kept = {name: value for name, value in definition.items() if name not in ("title", "description", "_meta", "icons")}
    for word in ("inputSchema", "outputSchema"):
        if word in kept:
            kept[word] = _bare(kept[word])
    if notes := object_in(kept, "annotations"):
        kept["annotations"] = {name: value for name, value in notes.items() if name != "title"}
    return orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)


def _bare(schema: object) -> object:
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    bare: dict[str, object] = {}
    for word, value in schema.items():
        if word in _PROSE:
            continue
        if word in _BY_NAME and isinstance(value, dict):
            bare[word] = {name: _bare(part) for name, part in value.items()}
        else:
            part = value if word in _VALUES else _bare(value)
            bare[word] = sorted(part, key=_key) if word in _UNORDERED and isinstance(part, list) else part
    return bare


def _key(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
