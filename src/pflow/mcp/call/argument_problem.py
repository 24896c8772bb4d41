"""What a validator found wrong with arguments, in words that name the argument and never repeat what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import orjson

from pflow.core.json_type import type_of
from pflow.core.printable import shorten
from pflow.core.suggest import nearest

WHOLE = "the set of arguments"
"""What is wrong, where that is not a part of it."""

_MOST_OPTIONS = 12
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have {} characters or more",
    "maxLength": "must have {} characters or fewer",
    "minItems": "must have {} items or more",
    "maxItems": "must have {} items or fewer",
    "minProperties": "must have {} fields or more",
    "maxProperties": "must have {} fields or fewer",
}


def describe(error: ValueError, schema: Mapping[str, object], arguments: object) -> Iterator[str]:
    """What one error of `jsonschema_rs` says; more than one thing if several names are unknown."""
    kind = getattr(error, "kind", None)
    keyword = str(getattr(kind, "name", ""))
    path: Sequence[str | int] = getattr(error, "instance_path", ())
    facts: Mapping[str, object] = kind.as_dict() if kind is not None else {}
    place = _name(path)
    given = type_of(getattr(error, "instance", None))
    if keyword == "required":
        name = str(facts["property"])
        meant = nearest(name, _undeclared(error, schema, arguments), limit=1)
        hint = f"; did you mean it by {_name([*path, *meant])}?" if meant else ""
        yield f"{_name([*path, name])} is missing{hint}"
    elif keyword in ("additionalProperties", "unevaluatedProperties") or _admits_none(error):
        for name in _texts(facts.get("unexpected")) or _undeclared(error, schema, arguments):
            meant = nearest(name, _declared(error, schema), limit=1)
            hint = f"; did you mean {_name([*path, *meant])}?" if meant else ""
            yield f"{_name([*path, name])} is not known{hint}"
    elif keyword == "type":
        yield f"{place} must be {_list(_texts(facts.get('types')))}, not {given}"
    elif keyword == "enum":
        yield f"{place} must be {_list([_show(option) for option in _items(facts.get('options'))])}"
    elif keyword == "const":
        yield f"{place} must be {_show(facts.get('expected_value'))}"
    elif keyword in _LIMITS:
        yield f"{place} {_LIMITS[keyword].format(_show(next(iter(facts.values()), None)))}"
    elif keyword == "pattern":
        yield f"{place} does not match the pattern `{shorten(str(facts.get('pattern')))}`"
    elif keyword == "uniqueItems":
        yield f"{place} has the same item twice"
    elif keyword in ("falseSchema", ""):
        yield f"{place} may not be given"
    elif keyword in ("anyOf", "oneOf"):
        yield f"{place} {_alternatives(facts.get('context'), schema, arguments, path, given)}"
    else:
        yield f"{place} does not fit `{shorten(keyword)}` of the tool's input schema"


def _alternatives(
    context: object, schema: Mapping[str, object], arguments: object, path: Sequence[str | int], given: str
) -> str:
    """Which types would do, if it is as plain as that; else what the likeliest alternative lacks."""
    branches = [_items(branch) for branch in _items(context)]
    types: list[str] = []
    likeliest: list[object] | None = None
    for branch in branches:
        first = branch[0] if branch else None
        kind = getattr(first, "kind", None)
        if getattr(kind, "name", "") == "type" and getattr(first, "instance_path", None) == path:
            types += _texts(kind.as_dict().get("types")) if kind is not None else []
        elif branch and (likeliest is None or len(branch) < len(likeliest)):
            likeliest = branch
    if branches and not any(branches):
        return "fits more than one of its alternatives"
    if likeliest is None:
        return f"must be {_list(types)}, not {given}" if types else "fits none of its alternatives"
    said = [
        text for error in likeliest[:3] if isinstance(error, ValueError) for text in describe(error, schema, arguments)
    ]
    return f"fits none of its alternatives; for one of them, {' and '.join(said[:3])}"


def _undeclared(error: ValueError, schema: Mapping[str, object], arguments: object) -> list[str]:
    """Names that were given beside a missing one, and that nothing declares."""
    given = _at(arguments, getattr(error, "instance_path", ()))
    known = set(_declared(error, schema))
    return [name for name in given if name not in known] if isinstance(given, Mapping) else []


def _admits_none(error: ValueError) -> bool:
    """Whether an error is about names where nothing at all may be given."""
    path: list[str | int] = list(getattr(error, "schema_path", ()))
    return path[-1:] == ["additionalProperties"] and path[-2:-1] != ["properties"]


def _declared(error: ValueError, schema: Mapping[str, object]) -> list[str]:
    """The properties of the subschema that an error is about."""
    path: list[str | int] = list(getattr(error, "schema_path", ()))
    if path and isinstance(path[-1], int):  # `required` counts its names
        path.pop()
    found = _at(schema, path[:-1])
    properties = found.get("properties") if isinstance(found, Mapping) else None
    return list(properties) if isinstance(properties, dict) else []


def _at(value: object, path: Sequence[str | int]) -> object:
    """What is at a path of `value`; None if nothing is."""
    for part in path:
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _name(path: Sequence[str | int]) -> str:
    if not path:
        return WHOLE
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{shorten(part, 40)}" for part in path)
    return f"`{shorten(text.removeprefix('.'), 120)}`"


def _list(words: Sequence[str]) -> str:
    words = list(dict.fromkeys(words))
    if len(words) > _MOST_OPTIONS:
        return f"one of {', '.join(words[:_MOST_OPTIONS])} and {len(words) - _MOST_OPTIONS:,} more"
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def _show(value: object) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return f"`{shorten(text, 40)}`"


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [item for item in _items(value) if isinstance(item, str)]
