"""Regular expressions with named groups, in the language of `re`, which stay fast whatever the pattern and text are.

`re` searches where a bound on its steps follows from pattern and text, and is low: that is so for most patterns and
most texts. Otherwise our own search does, which never tries anything twice. Both find the same, but for groups in a
repetition of what may be empty, such as `(?P<a>x|)*`.
"""

from __future__ import annotations

import re

from pflow.core.errors import StepError
from pflow.nodes.data.linear_search import LinearSearch
from pflow.nodes.data.pattern_tree import read_tree
from pflow.nodes.data.search_cost import SearchCost

LONGEST_PATTERN = 1_000
LONGEST_TEXT = 1_000_000
"""Characters."""

MOST_STEPS_OF_RE = 500_000_000
"""A few seconds if each of them were needed, which is rarely so."""

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
    _linear(compiled)
    return compiled


def find_all(pattern: str, text: str) -> list[dict[str, str | None]]:
    """The named groups of each match; null for a group that took no part in it."""
    compiled = compile_pattern(pattern)
    if len(text) > LONGEST_TEXT:
        raise StepError(
            f"`text` has {len(text):,} characters; at most {LONGEST_TEXT:,} can be searched",
            suggestions=["take it apart first, with `as: lines` and a batch"],
        )
    steps = SearchCost(text).bound(read_tree(compiled))
    if steps is not None and steps <= MOST_STEPS_OF_RE:
        return [match.groupdict() for match in compiled.finditer(text)]
    return list(_linear(compiled).find_all(text))


def _linear(compiled: re.Pattern[str]) -> LinearSearch:
    """Our own search for a pattern. Raises `StepError` for what cannot be searched for in linear time."""
    return LinearSearch(read_tree(compiled), tuple(compiled.groupindex))
