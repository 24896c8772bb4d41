"""JSON Schemas of the tools' arguments and answers, written by hand to be short."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

OBJECT: Schema = {"type": "object"}
OPEN: Schema = {"anyOf": [{"type": "object", "additionalProperties": True}]}
"""An object of an answer whose fields are not known beforehand. fastmcp 2 drops the fields of any plainer one."""

ARRAY: Schema = {"type": "array"}
"""An array of an answer. Objects that `items` described without their fields would be empty to fastmcp 2."""

BOOLEAN: Schema = {"type": "boolean"}


def text(description: str = "") -> Schema:
    """The schema of a string."""
    return {"type": "string", **({"description": description} if description else {})}


def flag(description: str) -> Schema:
    """The schema of a boolean."""
    return {**BOOLEAN, "description": description}


def takes(properties: Schema, *required: str) -> Schema:
    """An input schema. That nothing else is taken is said when it is: some hosts cannot read it in a schema."""
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


_ERROR = {"type": text(), "message": text()}
ERROR: Schema = {"type": "object", "properties": _ERROR}
"""What went wrong; `details`, `node` and `suggestions` come with it where there are any."""


def gives(data: Schema, **more: Schema) -> Schema:
    """The schema of an envelope around `data`, which may have more fields than these."""
    about = {"type": "object", "properties": data, "additionalProperties": True}
    properties = {"success": BOOLEAN, "data": about, "error": ERROR, **more}
    return {"type": "object", "properties": properties, "required": ["success"]}
