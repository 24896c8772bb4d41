"""Which names may become file names, and how a hostile name is shown; says nothing about where files are."""

from __future__ import annotations

from pflow.core.errors import SecurityError
from pflow.core.printable import code_of

MAX_NAME = 64
"""Characters."""

_INSIDE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_FIRST = _INSIDE - frozenset("-_.")

# Windows opens a device under these names, whatever their extension; a library must be portable, so they
# are refused everywhere.
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin", "conout"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)]
)


def check_name(name: str, *, what: str = "workflow", inside: str = "-_.") -> str:
    """The name itself, or a `SecurityError` that says what is wrong with it and never repeats a path.

    `inside` is what it may hold between letters and digits.
    """
    problem = _problem(name) or next(
        (f"it holds the character `{char}`" for char in name if char in "-_." and char not in inside), ""
    )
    if problem:
        raise SecurityError(
            f"{what} name `{show(name)}` is not allowed: {problem}",
            suggestions=[f"use lowercase letters, digits and hyphens, at most {MAX_NAME}: `my-{what}`"],
        )
    return name


def is_name(name: str) -> bool:
    """Whether `check_name` would let it pass."""
    return not _problem(name)


def show(text: str, limit: int = 40) -> str:
    """Text of unknown origin as one short line of printable ASCII, with path separators escaped as well."""
    shown = "".join(char if " " <= char <= "~" and char not in "/\\`" else code_of(char) for char in text[:limit])
    return shown + ("…" if len(text) > limit else "")


def _problem(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > MAX_NAME:
        return f"it has {len(name)} characters, at most {MAX_NAME} are allowed"
    if "/" in name or "\\" in name:
        return "it holds a path separator"
    if not _INSIDE.issuperset(name):
        wrong = next(char for char in name if char not in _INSIDE)
        return f"it holds the character `{show(wrong)}`"
    if name[0] not in _FIRST:
        return "it must start with a letter or digit"
    if name[-1] == ".":
        return "it ends with a dot"
    if ".." in name:
        return "it holds `..`"
    if name.split(".", 1)[0].lower() in _RESERVED:
        return "it is a reserved device name on Windows"
    return ""
