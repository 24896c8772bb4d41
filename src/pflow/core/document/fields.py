"""Reads the fields of one object of a document, typed; what is wrong becomes an issue, the default holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from pflow.core.document.position import Issues, Path, show_path
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.suggest import nearest

D = TypeVar("D")

is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}").fullmatch
"""Whether a text can be the id of a node or the name of an input."""

_MEANT: Mapping[str, str] = {
    "title": "name",
    "steps": "nodes",
    "tasks": "nodes",
    "version": "ir_version",
    "connections": "edges",
    "links": "edges",
    "start": "start_node",
    "entry": "start_node",
    "source": "from",
    "src": "from",
    "target": "to",
    "dst": "to",
    "condition": "action",
    "label": "action",
    "on": "action",
    "when": "action",
    "node_id": "id",
    "node_type": "type",
    "uses": "type",
    "tool": "type",
    "args": "params",
    "arguments": "params",
    "config": "params",
    "parameters": "params",
    "inputs": "params",
    "with": "params",
    "for_each": "batch",
    "foreach": "batch",
    "retries": "retry",
    "max_retries": "attempts",
    "delay": "wait",
    "server": "server_id",
    "value": "source",
    "optional": "required",
}
"""What authors coming from other formats write, and the field they mean, where an object has that field."""

_SWAPPED: Mapping[str, str] = {
    "name": "id",
    "params": "inputs",
    "parameters": "inputs",
    "arguments": "inputs",
}
"""The same for words that are themselves fields of other objects."""

_CARRIED = frozenset({"nodes", "edges", "inputs", "id", "type", "params", "from", "to", "items"})
"""Fields that many other checks lean on: without the guess, one typing mistake would cause many issues."""


def show_value(value: object) -> str:
    """A value that is short, and else what kind of value it is: `the string `30``, `an array`."""
    if isinstance(value, str):
        return f"the string `{shorten(value, 40)}`"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"the number {value}" if isinstance(value, int | float) else describe(value)


def label(path: Path) -> str:
    """The last part of a path, for a message: `timeout`, `nodes[2]`."""
    if not path:
        return "the document"
    return f"`{shorten(show_path(path[-2:] if isinstance(path[-1], int) else path[-1:]))}`"


def wrong_type(issues: Issues, path: Path, wanted: str, value: object, hint: str = "") -> None:
    """The value at `path` should have been `wanted`."""
    issues.add("wrong-type", f"{label(path)} must be {wanted}, not {show_value(value)}", path, hint=hint)


def check_name(issues: Issues, name: str, path: Path, what: str, *, key: bool = False) -> None:
    """Report a name that the rules for names forbid; `what` says of what: `the id of a node`."""
    if not is_name(name):
        better = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:64]
        better = better if is_name(better) else f"x-{better}"[:64].rstrip("-")
        issues.add(
            "bad-name",
            f"`{shorten(name)}` cannot be {what}",
            path,
            key=key,
            hint=f"up to 64 letters, digits, `_` and `-`, beginning with a letter or `_`: `{better}`",
        )
    elif name.startswith("__"):
        better = name.strip("_") or "x"
        issues.add(
            "reserved-name",
            f"`{name}` is reserved: names that begin with `__` belong to pflow",
            path,
            key=key,
            hint=f"call it `{better}`",
        )


class Fields:
    """The fields of one object, of which `known` are the names. A field that is null counts as not given."""

    __slots__ = ("issues", "path", "values")

    def __init__(
        self,
        issues: Issues,
        value: dict[str, object],
        path: Path,
        known: Mapping[str, None],
        *,
        what: str,
        required: tuple[str, ...] = (),
    ) -> None:
        self.issues = issues
        self.path = path
        self.values = value
        for name in value:
            if name not in known:
                self._unknown(name, known, what)
        for name in required:
            if self.values.get(name) is None:
                issues.add("missing-field", f"{what} has no `{name}`", path, hint=f"add `{name}`")

    def _unknown(self, name: str, known: Mapping[str, None], what: str) -> None:
        """Report a field; where it matters, read it as the one it was meant to be."""
        meant = ""
        if not self.issues.full:
            meant = _guess(name, [field for field in known if self.values.get(field) is None])
        self.issues.add(
            "unknown-field",
            f"{what} has no field `{shorten(name)}`",
            (*self.path, name),
            key=True,
            known=tuple(known),
            hint=f"did you mean `{meant}`?" if meant else "",
        )
        if meant in _CARRIED:
            self.values = {**self.values, meant: self.values[name]}

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name)
        if isinstance(value, str):
            return value
        if value is not None:
            hint = f'put it in quotes: "{value}"' if isinstance(value, int | float) else ""
            wrong_type(self.issues, (*self.path, name), "a string", value, hint)
        return default

    def word(self, name: str, default: str = "") -> str:
        """A string that says which thing is meant: not empty, and no template."""
        if self.values.get(name) is None:
            return default
        value = self.text(name, "?")
        if not value.strip():
            self.issues.add("missing-field", f"`{name}` is empty", (*self.path, name), hint=f"fill in `{name}`")
            return default
        if "${" in value:
            self.issues.add(
                "misplaced-template",
                f"`{name}` cannot hold a template: `{shorten(value)}`",
                (*self.path, name),
                hint="templates stand in `params`, `batch.items` and the `source` of outputs",
            )
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        if isinstance(value, bool):
            return value
        if value is not None:
            wrong_type(self.issues, (*self.path, name), "true or false", value)
        return default

    def integer(self, name: str, default: D, low: int, high: int) -> int | D:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            wrong_type(self.issues, (*self.path, name), "an integer", value, _unquoted(value))
        elif not low <= value <= high:
            message = f"`{name}` must be from {low:,} to {high:,}, not {value:,}"
            self.issues.add("out-of-range", message, (*self.path, name))
        else:
            return value
        return default

    def number(self, name: str, default: D, low: float, high: float, *, above: bool = False) -> float | D:
        """A number from `low` (or `above` it) to `high`."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, int | float) or isinstance(value, bool):
            wrong_type(self.issues, (*self.path, name), "a number", value, _unquoted(value))
        elif not low <= value <= high or (above and value == low):
            floor = f"more than {low:,}" if above else f"{low:,} or more"
            message = f"`{name}` must be {floor} and at most {high:,}, not {value:,}"
            self.issues.add("out-of-range", message, (*self.path, name))
        else:
            return float(value)
        return default

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value in choices:
            return value
        meant = nearest(value, choices, limit=1)
        self.issues.add(
            "bad-choice",
            f"`{name}` cannot be `{shorten(value)}`",
            (*self.path, name),
            known=choices,
            hint=f"did you mean `{meant[0]}`?" if meant else "",
        )
        return default

    def mapping(self, name: str) -> dict[str, object]:
        value = self.values.get(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            wrong_type(self.issues, (*self.path, name), "an object", value)
        return {}


def _guess(name: str, known: Collection[str]) -> str:
    lower = name.lower()
    for table in (_MEANT, _SWAPPED):
        if table.get(lower) in known:
            return table[lower]
    return next(iter(nearest(name, known, limit=1)), "")


def _unquoted(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value.strip()[:40]):
        return f"write {value.strip()} without quotes"
    return ""
