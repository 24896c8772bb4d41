"""What a node type or a workflow takes and gives, on one line, for clients that show only the text of an answer."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from pflow.core.interface import named_fields
from pflow.core.printable import shorten

_LONGEST_CHARACTERS = 400
_DEFAULT_CHARACTERS = 30


def signature(about: Mapping[str, object]) -> str:
    """`(path: string, limit: integer = 20, since?: string) → commits: array`, of a match or a description."""
    interface = about.get("interface", about)
    if not isinstance(interface, Mapping):
        return ""
    takes = ", ".join(map(_taken, named_fields(interface.get("params", interface.get("inputs")))))
    gives = ", ".join(f"{name}: {_type(field)}" for name, field in named_fields(interface.get("outputs")))
    return shorten(f"({takes}){' → ' if gives else ''}{gives}", _LONGEST_CHARACTERS)


def _taken(named: tuple[str, Mapping[str, object]]) -> str:
    name, field = named
    default = field.get("default")
    if field.get("required"):
        return f"{name}: {_type(field)}"
    if default in (None, ""):
        return f"{name}?: {_type(field)}"
    return f"{name}: {_type(field)} = {shorten(orjson.dumps(default, default=str).decode(), _DEFAULT_CHARACTERS)}"


def _type(field: Mapping[str, object]) -> str:
    return str(field.get("type") or "any")
