"""The schema that a step wants its answer to fit: as its author wrote it, and as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

_SCHEMA_WORDS = ("$ref", "anyOf")
_TYPED = frozenset(("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "properties", "items", "not"))
"""Keywords of a field that say what it is; a field with none of them is text."""

TEXT: Mapping[str, object] = {"type": "string"}


def is_field_map(written: Mapping[str, object]) -> bool:
    """Whether a schema is fields by name, as in a question, and not JSON Schema."""
    if isinstance(written.get("type"), str) or any(word in written for word in _SCHEMA_WORDS):
        return False
    return bool(written) and all(isinstance(value, Mapping) for value in written.values())


def response_schema(written: Mapping[str, object]) -> Mapping[str, object]:
    """The JSON Schema of an answer. Of a map of fields, each must be there unless it has a default or is optional."""
    if not is_field_map(written):
        return written
    from pflow.engine.asking.form import is_optional  # lazy: JSON Schema needs no rules of questions

    fields = {name: field for name, field in written.items() if isinstance(field, Mapping)}
    return {
        "type": "object",
        "properties": {name: _field(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if not is_optional(field)],
        "additionalProperties": False,
    }


def with_defaults(written: Mapping[str, object], value: object) -> object:
    """An answer with the defaults of the fields that it leaves out, as the answer to a question has them."""
    if not isinstance(value, Mapping) or not is_field_map(written):
        return value
    left = {
        name: field["default"]
        for name, field in written.items()
        if name not in value and isinstance(field, Mapping) and field.get("default") is not None
    }
    return {**value, **left} if left else value


def _field(schema: Mapping[str, object]) -> dict[str, object]:
    own = {key: value for key, value in schema.items() if key != "required" or not isinstance(value, bool)}
    return own if _TYPED & own.keys() else {**TEXT, **own}
