"""A value as an indented tree, which people can read where JSON on one line is too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

import orjson

from pflow.core.document.position import show_path
from pflow.core.printable import escape, shorten

_LONGEST = 10_000
"""Characters of one line."""


def render_tree(value: object, *, indent: str = "", most: int | None = None, width: int = _LONGEST) -> list[str]:
    """The lines of a value, the first `most` of them, each at most `width` characters long."""
    lines = _lines(value, indent, width)
    if most is None:
        return list(lines)
    shown = list(islice(lines, most))
    left = sum(1 for _ in lines)
    return [*shown, f"{indent}… {left:,} more line{'s' * (left != 1)}"] if left else shown


def render_named(
    name: str, value: object, *, indent: str = "", most: int | None = None, width: int = _LONGEST
) -> list[str]:
    """A name and its value: on one line if it is short, else as a tree below it."""
    if inline := _inline(value, width):
        return [f"{indent}{escape(name)}: {inline}"]
    return [f"{indent}{escape(name)}:", *render_tree(value, indent=f"{indent}  ", most=most, width=width)]


def _lines(value: object, indent: str, width: int) -> Iterator[str]:
    if isinstance(value, Mapping) and isinstance(value.get("$preview"), str):
        yield from _lines(value["$preview"], indent, width)
        yield f"{indent}… of {value.get('size', 0):,} bytes"
        return
    if isinstance(value, str):
        yield from (f"{indent}{shorten(line, width)}" for line in value.rstrip("\n").split("\n"))
        return
    if inline := _inline(value, width):
        yield f"{indent}{inline}"
        return
    pairs = (
        ((show_path((str(key),)) or '""', item) for key, item in value.items())
        if isinstance(value, Mapping)
        else ((f"[{index}]", item) for index, item in enumerate(value if isinstance(value, list) else []))
    )
    for name, item in pairs:
        inline = _inline(item, width)
        if inline:
            yield f"{indent}{escape(name)}: {inline}"
        else:
            yield f"{indent}{escape(name)}:"
            yield from _lines(item, f"{indent}  ", width)


def _inline(value: object, width: int) -> str:
    """A value that stands on one line; empty if it needs more."""
    if isinstance(value, Mapping):
        if isinstance(value.get("$value"), str):
            return f"({value.get('size', 0):,} bytes)"
        if set(value) == {"$items"}:
            return "(what its items gave: --step with the number of one, such as [0])"
        return "" if value else "{}"
    if isinstance(value, list):
        if not value or all(not isinstance(item, str | list | Mapping) for item in value):
            text = orjson.dumps(value, default=str).decode()
            return text if len(text) <= min(width, 100) else ""
        return ""
    if isinstance(value, str):
        if ("\n" not in value.rstrip("\n") and value != value.strip()) or not value:
            return shorten(orjson.dumps(value).decode(), width)
        return "" if "\n" in value else shorten(value, width)
    return shorten(orjson.dumps(value, default=str).decode(), width)
