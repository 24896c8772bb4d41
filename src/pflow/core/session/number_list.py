"""Numbers of calls as people write them: `3,5-9`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pflow.core.errors import UsageError

_MOST_NUMBERS = 10_000


def read_numbers(text: str) -> frozenset[int]:
    """The numbers of a list; raises `UsageError` for what is none."""
    found: set[int] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not 0 < low <= high or high - low > _MOST_NUMBERS:
            raise UsageError(f"`{part}` is not a call or a range of calls", suggestions=["write `--calls 3,5-9`"])
        found.update(range(low, high + 1))
    return frozenset(found)


def write_numbers(numbers: Iterable[int]) -> str:
    """A list of numbers that are in order."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(f"{first}-{last}" if first != last else f"{first}" for first, last in spans)
