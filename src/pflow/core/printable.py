"""Text of unknown origin, made printable: on one line, nothing invisible, cut where it is long."""

from __future__ import annotations

from collections.abc import Sequence

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
"""Characters that count as printable and show nothing."""

_SHOWN_CHARACTERS = 60


def escape(text: str) -> str:
    """`text` on one line with the invisible made visible: controls, ANSI, bidi marks, zero-width ones."""
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text
    return "".join(
        letter if letter.isprintable() and letter not in _BLANK else _SHORT.get(letter) or code_of(letter)
        for letter in text
    )


def cut(text: str, width: int = _SHOWN_CHARACTERS) -> str:
    """`text`, with an ellipsis at its end when it is longer than `width`."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def shorten(text: str, width: int = _SHOWN_CHARACTERS) -> str:
    """`text`, cut and escaped."""
    return escape(cut(text, width))


def is_text(text: str) -> bool:
    """Whether it is Unicode: half a surrogate pair, as for a byte of a command line that is not UTF-8, is not."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def columns(rows: Sequence[Sequence[str]], *, indent: str = "  ", widest: int = 48) -> list[str]:
    """Rows with their cells below each other; a cell that is wider than `widest` does not widen its column."""
    widths = [
        max((len(cell) for cell in column if len(cell) <= widest), default=widest) for column in zip(*rows, strict=True)
    ]
    return [
        (indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]


def code_of(letter: str) -> str:
    """A character as an escape of printable ASCII: `\\x1b`."""
    point = ord(letter)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
