"""What a node type or a workflow takes and gives, on one line: for whoever sees only the text of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import orjson

from pflow.core.printable import shorten

_LONGEST = 400
_DEFAULT = 30


def signature(about: Mapping[str, object]) -> str:
    """`(path: string, limit: integer = 20, since?: string) → commits: array`, of a match or a description."""
    interface = about.get("interface", about)
    if not isinstance(interface, Mapping):
        return ""
    takes = ", ".join(map(_taken, _fields(interface.get("params", interface.get("inputs")))))
    gives = ", ".join(f"{name}: {_type(field)}" for name, field in _fields(interface.get("outputs")))
    return shorten(f"({takes}){' → ' if gives else ''}{gives}", _LONGEST)


def _fields(group: object) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Fields with their names, whether they are listed or stand under their names."""
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(group, Mapping):
        pairs = group.items()
    elif isinstance(group, list):
        pairs = ((field.get("name"), field) for field in group if isinstance(field, Mapping))
    yield from ((str(name), field) for name, field in pairs if isinstance(field, Mapping))


def _taken(named: tuple[str, Mapping[str, object]]) -> str:
    name, field = named
    default = field.get("default")
    if field.get("required"):
        return f"{name}: {_type(field)}"
    if default in (None, ""):
        return f"{name}?: {_type(field)}"
    return f"{name}: {_type(field)} = {shorten(orjson.dumps(default, default=str).decode(), _DEFAULT)}"


def _type(field: Mapping[str, object]) -> str:
    return str(field.get("type") or "any")
