"""What goes wrong in an expression, and the error that callers get for it."""

from __future__ import annotations

from pflow.core.errors import ExpressionError, ExpressionFault


class Fault(Exception):
    """A problem at an offset of the text; code that raises it may leave the offset to its caller."""

    def __init__(self, kind: ExpressionFault, message: str, *hints: str, at: int = -1) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hints = tuple(hint for hint in hints if hint)
        self.at = at


def position(text: str, at: int) -> tuple[int, int]:
    """Line and column of an offset, both counted from 1."""
    before = text[: max(at, 0)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def located(fault: Fault, text: str) -> ExpressionError:
    """The error for callers: it names the place in the text."""
    line, column = position(text, fault.at)
    return ExpressionError(fault.message, kind=fault.kind, line=line, column=column, suggestions=fault.hints)
