"""Text of unknown origin, made printable: on one line, nothing invisible, cut where it is long."""

from __future__ import annotations

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


def code_of(letter: str) -> str:
    """A character as an escape of printable ASCII: `\\x1b`."""
    point = ord(letter)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
