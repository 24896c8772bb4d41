"""What is wrong with a text that a step reads, and where: its line, its column and what stands there."""

from __future__ import annotations

from pflow.core.errors import StepError
from pflow.core.printable import shorten

_BEFORE, _AFTER = 30, 30
"""Characters that are shown around the place."""


def fault(text: str, offset: int, problem: str, *, hint: str = "", first_line: int = 1) -> StepError:
    """The error for a problem at `offset`; `first_line` is the number of the text's first line."""
    start = text.rfind("\n", 0, offset) + 1
    line, column = text.count("\n", 0, offset) + first_line, offset - start + 1
    end = text.find("\n", offset)
    shown = text[max(start, offset - _BEFORE) : min(len(text) if end < 0 else end, offset + _AFTER)].strip()
    near = f": `{shorten(shown, _BEFORE + _AFTER)}`" if shown else ""
    return StepError(
        f"{problem}, at line {line:,}, column {column:,} of `text`{near}",
        details={"line": line, "column": column, "near": shown},
        suggestions=[hint] if hint else [],
    )
