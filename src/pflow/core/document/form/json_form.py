"""Writes JSON in its canonical form: two spaces, one line for what stood on one line and fits, tokens as they were."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pflow.core.document.form.field_order import in_order
from pflow.core.document.position import Path

WIDTH = 120
"""Characters of a line, unless one value alone is longer."""

_TOKEN = re.compile(r"""[ \t\r\n]*(?:([{}\[\],:])|("[^"\\]*(?:\\.[^"\\]*)*"|[^ \t\r\n{}\[\],:"]+))""", re.DOTALL)


class _Value:
    """A value of the text: a token, or the parts between two brackets, and whether they stood on one line."""

    __slots__ = ("close", "keys", "one_line", "parts", "token")

    def __init__(self, token: str, close: str = "") -> None:
        self.token = token
        self.close = close
        self.keys: list[str] = []
        self.parts: list[_Value] = []
        self.one_line = True


def form_json(text: str) -> str:
    """The canonical form of valid JSON without repeated keys."""
    return "".join(_write(_read(text), (), "", 0)) + "\n"


def _read(text: str) -> _Value:
    root = _Value("")
    stack: list[tuple[_Value, int]] = [(root, 0)]
    for match in _TOKEN.finditer(text):
        mark, token = match[1], match[2]
        holder = stack[-1][0]
        if mark in ("{", "["):
            value = _Value(mark, "}" if mark == "{" else "]")
            holder.parts.append(value)
            stack.append((value, match.end()))
        elif mark in ("}", "]"):
            value, start = stack.pop()
            value.one_line = "\n" not in text[start : match.end()]
        elif token is not None and holder.token == "{" and len(holder.keys) == len(holder.parts):
            holder.keys.append(token)
        elif token is not None:
            holder.parts.append(_Value(token))
    return root.parts[0]


def _write(value: _Value, path: Path, indent: str, taken: int) -> Iterator[str]:
    """The pieces of a value whose line already has `taken` characters."""
    if not value.close:
        yield value.token
        return
    entries = _entries(value, path)
    flat = _flat(value, path) if value.one_line else None
    if not entries or (flat is not None and taken + len(flat) < WIDTH):
        yield flat or f"{value.token}{value.close}"
        return
    inner = f"{indent}  "
    yield value.token
    for number, (key, part) in enumerate(entries):
        start = f"{key}: " if key else ""
        yield f"{',' if number else ''}\n{inner}{start}"
        name = json.loads(key) if key else number
        yield from _write(part, (*path, name), inner, len(inner) + len(start))
    yield f"\n{indent}{value.close}"


def _flat(value: _Value, path: Path) -> str:
    if not value.close:
        return value.token
    shown = [
        f"{key}: {_flat(part, (*path, json.loads(key)))}" if key else _flat(part, (*path, number))
        for number, (key, part) in enumerate(_entries(value, path))
    ]
    return f"{value.token}{', '.join(shown)}{value.close}"


def _entries(value: _Value, path: Path) -> list[tuple[str, _Value]]:
    if value.token == "[":
        return [("", part) for part in value.parts]
    pairs = list(zip(value.keys, value.parts, strict=True))
    return in_order(pairs, path, lambda pair: json.loads(pair[0]))
