"""Reads the fields of one object of a document by type; a wrong value becomes an issue, and the default holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from pflow.core.document.position import Issues, Path, show_path
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean, nearest

D = TypeVar("D")
T = TypeVar("T")

_LONGEST_NAME = 64

_CARRIED = frozenset({"nodes", "edges", "inputs", "id", "type", "params", "from", "to", "items"})
"""Fields that other checks need: if they were not guessed, one typing mistake would cause many issues."""


def is_name(text: str) -> bool:
    """Whether a string can be the id of a node or the name of an input."""
    return len(text) <= _LONGEST_NAME and text.isascii() and text.replace("-", "0").isidentifier()


def show_value(value: object) -> str:
    """A short value, or else its type: `the string `30``, `an array`."""
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
        message = f"`{name}` is reserved: names that begin with `__` belong to pflow"
        issues.add("reserved-name", message, path, key=key, hint=f"call it `{name.strip('_') or 'x'}`")


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
        """Report a field; if other checks need it, read it as the one that was likely meant."""
        from pflow.core.other_words import FIELD_HINTS  # lazy: only for this message

        meant = ""
        if not self.issues.full:
            meant = _guess(name, [field for field in known if self.values.get(field) is None])
        self.issues.add(
            "unknown-field",
            f"{what} has no field `{shorten(name)}`",
            (*self.path, name),
            key=True,
            known=tuple(known),
            hint=f"did you mean `{meant}`?" if meant else FIELD_HINTS.get(name.lower(), ""),
        )
        if meant in _CARRIED:
            self.values = {**self.values, meant: self.values[name]}

    def text(self, name: str, default: str = "") -> str:
        return self._typed(name, str, "a string", default)

    def flag(self, name: str, default: D) -> bool | D:
        return self._typed(name, bool, "true or false", default)

    def mapping(self, name: str) -> dict[str, object]:
        return self._typed(name, dict, "an object", {})

    def word(self, name: str, default: str = "") -> str:
        """A string that names something: not empty, and not a template."""
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

    def integer(self, name: str, default: D, low: int, high: int) -> int | D:
        value = self._ranged(name, (int,), "an integer", low, high)
        return default if value is None else int(value)

    def number(self, name: str, default: D, low: float, high: float, *, above: bool = False) -> float | D:
        """A number from `low` (or `above` it) to `high`."""
        value = self._ranged(name, (int, float), "a number", low, high, above=above)
        return default if value is None else float(value)

    def duration(self, name: str, high: float, *, or_zero: bool = False) -> float | None:
        """Seconds, above 0 `or_zero` and up to `high`, as a number or with a unit."""
        value = self.values.get(name)
        if value is None:
            return None
        from pflow.core.duration import FORM, read_duration, show_duration  # lazy: many documents have none

        seconds = read_duration(value)
        if seconds is None:
            wrong_type(self.issues, (*self.path, name), "a duration", value, f"write {FORM}")
        elif not 0 <= seconds <= high or not (seconds or or_zero):
            span = f"{'0 to' if or_zero else 'more than 0 and at most'} {show_duration(high)}"
            self.issues.add("out-of-range", f"`{name}` must be {span}, not {show_value(value)}", (*self.path, name))
        else:
            return seconds
        return None

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value in choices:
            return value
        hint = did_you_mean(value, choices)
        message = f"`{name}` cannot be `{shorten(value)}`"
        self.issues.add("bad-choice", message, (*self.path, name), known=choices, hint=hint)
        return default

    def _typed(self, name: str, kind: type[T], wanted: str, default: D) -> T | D:
        value = self.values.get(name)
        if isinstance(value, kind):
            return value
        if value is not None:
            hint = f'put it in quotes: "{value}"' if kind is str and isinstance(value, int | float) else ""
            if kind is bool and isinstance(value, str):
                hint = "write true or false without quotes"
            wrong_type(self.issues, (*self.path, name), wanted, value, hint)
        return default

    def _ranged(
        self, name: str, kinds: tuple[type[float], ...], wanted: str, low: float, high: float, *, above: bool = False
    ) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, kinds) or isinstance(value, bool):
            wrong_type(self.issues, (*self.path, name), wanted, value, _unquoted(value))
        elif not low <= value <= high or (above and value == low):
            span = f"more than {low:,} and at most {high:,}" if above else f"from {low:,} to {high:,}"
            self.issues.add("out-of-range", f"`{name}` must be {span}, not {value:,}", (*self.path, name))
        else:
            return value
        return None


def _guess(name: str, known: Collection[str]) -> str:
    """The field that a name was likely meant to be; "" if there is none."""
    from pflow.core.other_words import FIELD_HINTS, field_meant  # lazy: only for what is wrong

    meant = field_meant(name, known)
    if meant or name.lower() in FIELD_HINTS:
        return meant
    return next(iter(nearest(name, known, limit=1)), "")


def _unquoted(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value.strip()[:40]):
        return f"write {value.strip()} without quotes"
    return ""
