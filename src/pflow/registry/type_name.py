"""The spellings of the document's types. It parses nothing, so that loading a registry stays cheap."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.json_type import TYPES

TYPE_NAMES: Mapping[str, str] = {
    **TYPES,
    "text": "string",
    "Path": "string",
    "List": "array",
    "tuple": "array",
    "Sequence": "array",
    "Iterable": "array",
    "Dict": "object",
    "Mapping": "object",
    "Any": "any",
}
"""The document's types and what Python code calls them; anything else is `any`."""


def canonical(text: str) -> str:
    """The document's name for a type that a registry entry spells as `str` or `dict|str`."""
    names = dict.fromkeys(TYPE_NAMES.get(part.strip(), "any") for part in text.split("|"))
    return "any" if "any" in names or not names else "|".join(names)
