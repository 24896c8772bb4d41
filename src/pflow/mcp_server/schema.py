"""JSON Schemas of the tools' arguments and answers, written by hand to be short."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
BOOLEAN: Schema = {"type": "boolean"}


def text(description: str = "") -> Schema:
    """The schema of a string."""
    return {"type": "string", **({"description": description} if description else {})}


def flag(description: str) -> Schema:
    """The schema of a boolean."""
    return {**BOOLEAN, "description": description}


def takes(properties: Schema, *required: str) -> Schema:
    """An input schema that admits nothing else."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


_ERROR = {"type": text(), "message": text()}
ERROR: Schema = {"type": "object", "properties": _ERROR, "required": [*_ERROR]}
"""What went wrong; `details`, `node` and `suggestions` come with it where there are any."""


def gives(data: Schema, **more: Schema) -> Schema:
    """The schema of an envelope around `data`."""
    properties = {"success": BOOLEAN, "data": {"type": "object", "properties": data}, "error": ERROR, **more}
    return {"type": "object", "properties": properties, "required": ["success"]}
