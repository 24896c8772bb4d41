"""JSON values and their types, in the words that documents and messages use; knows no schemas."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from functools import lru_cache

import orjson

Json = dict[str, object]
"""A JSON object of our own, free to change."""

JsonView = Mapping[str, object]
"""A JSON object that is only read."""


def objects_in(value: object) -> list[JsonView]:
    """The objects of an array; nothing if the value is not an array."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


TYPES: Mapping[str, str] = {
    "string": "string",
    "str": "string",
    "integer": "integer",
    "int": "integer",
    "number": "number",
    "float": "number",
    "boolean": "boolean",
    "bool": "boolean",
    "array": "array",
    "list": "array",
    "object": "object",
    "dict": "object",
    "any": "any",
}
"""Every way to write a type, and the word that pflow uses for it."""

JSON_TYPES = frozenset({*TYPES.values(), "null"} - {"any"})
"""What `type_of` says of values that JSON can hold."""

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
"""The same, with what Python code calls them; anything else is `any`."""


_LARGE = 1 << 18
"""Bytes of JSON whose objects take milliseconds to go through."""

_FEW = 1000
"""Objects that Python itself may have frozen when it started."""


@lru_cache(maxsize=256)
def canonical(text: str) -> str:
    """The document's name for a type that a registry entry spells as `str` or `dict|str`."""
    names = dict.fromkeys(TYPE_NAMES.get(part.strip(), "any") for part in text.split("|"))
    return "any" if "any" in names or not names else "|".join(names)


def load_json(data: bytes) -> object:
    """The value that JSON text holds. Raises `ValueError` if it is not JSON.

    Nobody looks for garbage meanwhile, which finds none and takes up to nine tenths of the time for a large value; nor
    does the next look go through that value, unless the program has frozen objects of its own, which stay frozen.
    Threads may overlap: the first to end lets collecting go on for all of them, and nothing but time is lost.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        value: object = orjson.loads(data)
        if len(data) > _LARGE and was_on and gc.get_freeze_count() < _FEW:
            gc.freeze()  # with the next line: all there is counts as old, without a look at it
            gc.unfreeze()
    finally:
        if was_on:
            gc.enable()
    return value


def object_in(content: JsonView, key: str) -> Json:
    """The object that stands under a key; {} if nothing or anything else does."""
    value = content.get(key)
    return value if isinstance(value, dict) else {}


def type_of(value: object) -> str:
    """The word for a value's type: `string`, `integer`, `null`; for what JSON cannot hold, the name of its class."""
    if value is None:
        return "null"
    name = type(value).__name__
    return TYPES.get(name) or (
        "object" if isinstance(value, Mapping) else "array" if isinstance(value, tuple) else name
    )


def describe(value: object) -> str:
    """What kind of value this is, without showing what may be long or secret: `a string`, `null`."""
    return "an empty string" if value == "" else with_article(type_of(value))


def with_article(word: str) -> str:
    """A type in a sentence: `an integer`."""
    return word if word == "null" else f"an {word}" if word[0] in "aio" else f"a {word}"


def fits(value: object, kinds: str) -> bool:
    """Whether a value is of one of the types in `kinds` (`integer`, `array|string`, `any`)."""
    return overlaps(type_of(value), kinds)


def overlaps(given: str, taken: str) -> bool:
    """Whether a value of the types `given` may be one of the types `taken`."""
    wanted = taken.split("|")
    found = given.split("|")
    return (
        "any" in wanted
        or "any" in found
        or any(kind in wanted or (kind == "integer" and "number" in wanted) for kind in found)
    )
