"""Colours in text that we composed: marks inside of it that become colours on a terminal, and nothing elsewhere.

Text of others is escaped before it is composed, so it cannot hold a mark.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from pflow.core.printable import escape

_END = "\ue000"
_MARKS = {
    "red": "\ue001",
    "green": "\ue002",
    "yellow": "\ue003",
    "cyan": "\ue004",
    "magenta": "\ue005",
    "dim": "\ue006",
}
_CODES = {"\ue000": "0", "\ue001": "31", "\ue002": "32", "\ue003": "33", "\ue004": "36", "\ue005": "35", "\ue006": "2"}
_MARK = re.compile("[\ue000-\ue006]")

_STATUSES = {
    "completed": "green",
    "same": "green",
    "failed": "red",
    "damaged": "red",
    "output differs": "yellow",
    "only in A": "red",
    "only in B": "cyan",
    "handled": "yellow",
    "retrying": "yellow",
    "not yet": "yellow",
    "waiting": "yellow",
    "stopped": "yellow",
    "cancelled": "yellow",
    "interrupted": "magenta",
    "in doubt": "magenta",
    "cut off": "magenta",
    "running": "cyan",
    "done": "green",
    "asked": "yellow",
    "cached": "green",
    "pending": "dim",
    "skipped": "dim",
    "reused": "dim",
}


def paint(text: str, colour: str) -> str:
    """Text in a colour."""
    return f"{_MARKS[colour]}{text}{_END}" if text else text


def paint_status(status: str) -> str:
    """A status in its colour."""
    return paint(status, _STATUSES[status]) if status in _STATUSES else status


def paint_cell(line: str, start: int, status: str) -> str:
    """A line of a table in which the first `status` after `start` has its colour."""
    at = line.find(status, start) if status in _STATUSES else -1
    return line if at < 0 else f"{line[:at]}{paint_status(status)}{line[at + len(status) :]}"


def wants_colour(environ: Mapping[str, str] | None = None) -> bool:
    """Whether colours are welcome on a terminal."""
    variables = os.environ if environ is None else environ
    return not variables.get("NO_COLOR") and variables.get("TERM", "") != "dumb"


def without_marks(text: str) -> str:
    """The text as files and pipes get it."""
    return _MARK.sub("", text)


def for_terminal(line: str) -> str:
    """A line as a terminal gets it: whatever else is invisible in it is escaped."""
    colour = wants_colour()
    parts = re.split(f"({_MARK.pattern})", line)
    return "".join((f"\x1b[{_CODES[part]}m" if colour else "") if part in _CODES else escape(part) for part in parts)


def paint_message(text: str) -> str:
    """A message for a terminal, with the words in colour that say what kind of line it is."""
    if not wants_colour():
        return text
    kinds = {"error": "31", "stopped": "33", "cancelled": "33", "warning": "33", "hint": "2", "note": "2"}
    return re.sub(
        rf"^({'|'.join(kinds)}):", lambda found: f"\x1b[{kinds[found[1]]}m{found[1]}:\x1b[0m", text, flags=re.MULTILINE
    )
