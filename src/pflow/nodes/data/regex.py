"""Regular expressions with named groups, kept to those that stay fast whatever the text is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.core.errors import StepError

LONGEST_PATTERN = 1_000
LONGEST_TEXT = 1_000_000
"""Characters. Within these and without repeats inside of repeats, a search ends in time."""

_EXAMPLE = r"such as `(?P<name>\w+)=(?P<value>\S+)`"


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, with `^` and `$` for each line. Raises `StepError` for one that cannot be used."""
    if not pattern:
        raise StepError("`as: regex` needs a `pattern`", suggestions=[f"write one with named groups, {_EXAMPLE}"])
    if len(pattern) > LONGEST_PATTERN:
        raise StepError(f"`pattern` has {len(pattern):,} characters; at most {LONGEST_PATTERN:,} are allowed")
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        at = getattr(error, "pos", None)
        where = f" at its character {at + 1}" if isinstance(at, int) else ""
        said = getattr(error, "msg", str(error))
        raise StepError(f"`pattern` is not a valid regular expression: {said}{where}") from None
    if not compiled.groupindex:
        raise StepError(
            "`pattern` has no named groups, so there is nothing to give",
            suggestions=[f"name what you want of each match, {_EXAMPLE}"],
        )
    if _is_slow(pattern):
        raise StepError(
            "`pattern` repeats a group that repeats something itself, which can take forever",
            suggestions=["write `a+` rather than `(a+)+`, and name the end of what is repeated"],
        )
    return compiled


def find_all(pattern: str, text: str) -> list[dict[str, str | None]]:
    """The named groups of each match; null for a group that took no part in it."""
    compiled = compile_pattern(pattern)
    if len(text) > LONGEST_TEXT:
        raise StepError(
            f"`text` has {len(text):,} characters; at most {LONGEST_TEXT:,} can be searched",
            suggestions=["take it apart first, with `as: lines` and a batch"],
        )
    return [match.groupdict() for match in compiled.finditer(text)]


def _is_slow(pattern: str) -> bool:
    """Whether something that repeats without end stands in a group that does so as well, or refers back to one."""
    open_groups: list[bool] = []
    for token, repeats in _tokens(pattern):
        if token == "back":
            return True
        if token == "(":
            open_groups.append(False)
        elif token == ")" and open_groups:
            inner = open_groups.pop()
            if inner and repeats:
                return True
            if open_groups and (inner or repeats):
                open_groups[-1] = True
        elif repeats and open_groups:
            open_groups[-1] = True
    return False


_ATOM = re.compile(r"\\(?P<back>[1-9]|k)|\(\?P(?P<named>=)|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|(?P<mark>[()])|.", re.DOTALL)
_REPEAT = re.compile(r"\*|\+|\{[0-9]*,(?P<most>[0-9]*)\}")
_FEW = 10
"""Repeats that are few enough to be none."""


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """The parts of a pattern: brackets, back-references and the rest, and whether each repeats without end."""
    position = 0
    while match := _ATOM.match(pattern, position):
        position = match.end()
        repeat = _REPEAT.match(pattern, position)
        most = repeat["most"] if repeat else "0"
        is_endless = repeat is not None and (not most or int(most) > _FEW)
        kind = "back" if match["back"] or match["named"] else match["mark"] or "."
        yield kind, is_endless
        position = repeat.end() if repeat else position
