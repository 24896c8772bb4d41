"""Splits the text of an expression into tokens in one pass."""

from __future__ import annotations

import re
from typing import NamedTuple

from pflow.core.expression.fault import Fault
from pflow.core.expression.spelling import FOREIGN_MARKS, foreign_text
from pflow.core.printable import shorten

MOST_CHARACTERS = 4096
_INT64 = 1 << 63

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\n\f]+)
    | (?P<float>(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)(?![\w]))
    | (?P<int>(?:0[xX][0-9a-fA-F]+|[0-9]+)(?!\w))
    | (?P<raw>[rR](?:'''.*?'''|\"{3}.*?\"{3}|'[^'\n\r]*'|"[^"\n\r]*"))
    | (?P<string>'''(?:[^\\]|\\.)*?'''|\"{3}(?:[^\\]|\\.)*?\"{3}|'(?:[^'\\\n\r]|\\.)*'(?!')|"(?:[^"\\\n\r]|\\.)*"(?!"))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*(?![\w"']))
    | (?P<quoted>`[A-Za-z0-9_.\-/ ]+`)
    | (?P<mark>&&|\|\||[=!<>]=(?!=)|[<>!?:+\-*/%.,()\[\]{}])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {c: c for c in "\\?\"'`"}


class Token(NamedTuple):
    """A piece of the text. `kind` is `name`, `quoted`, `value`, `end`, or for a mark or keyword the text itself."""

    kind: str
    text: str
    at: int
    value: str | int | float | bool | None = None


_CONSTANTS = {"true": True, "false": False, "null": None}


def tokens(text: str) -> list[Token]:
    """The tokens of an expression, an `end` behind them."""
    if len(text) > MOST_CHARACTERS:
        message = f"an expression has at most {MOST_CHARACTERS:,} characters; this one has {len(text):,}"
        raise Fault("limit", message, "compute a part of it in a `let` step before this one")
    found: list[Token] = []
    at, match = 0, _TOKEN.match
    while at < len(text):
        piece = match(text, at)
        kind = piece.lastgroup if piece else ""
        if piece is None or (kind == "mark" and text.startswith(FOREIGN_MARKS, at)):
            raise _unknown(text, at)
        if kind == "mark":
            found.append(Token(piece[0], piece[0], at))
        elif kind != "space":
            found.append(_token(kind or "", piece[0], at))
        at = piece.end()
    found.append(Token("end", "", len(text)))
    return found


def _token(kind: str, word: str, at: int) -> Token:
    match kind:
        case "name" if word in _CONSTANTS:
            return Token("value", word, at, _CONSTANTS[word])
        case "name":
            return Token("in" if word == "in" else "name", word, at)
        case "quoted":
            return Token(kind, word[1:-1], at)
        case "int":
            return Token("value", word, at, _integer(word, at))
        case "float":
            return Token("value", word, at, _double(word, at))
        case "string":
            return Token("value", word, at, _string(word, at))
        case "raw":
            quotes = _quotes(word[1:])
            return Token("value", word, at, word[1 + quotes : -quotes])
    raise AssertionError(kind)


def _integer(word: str, at: int) -> int:
    value = int(word, 16) if word[:2] in ("0x", "0X") else int(word) if len(word) < 30 else _INT64 + 1
    if value > _INT64:  # 2**63 itself is fine behind a minus, which the parser sees
        raise Fault("value", f"`{shorten(word)}` is outside the range of 64-bit integers", at=at)
    return value


def _double(word: str, at: int) -> float:
    value = float(word)
    if value == float("inf"):
        raise Fault("value", f"`{shorten(word)}` is larger than any number can be", at=at)
    return value


def _string(word: str, at: int) -> str:
    quotes = _quotes(word)
    body = word[quotes:-quotes]
    if "\\" not in body:
        return body
    return _ESCAPE.sub(lambda escape: _unescaped(escape, at + quotes), body)


def _quotes(word: str) -> int:
    """How many quotes a string begins with."""
    return 3 if len(word) > 5 and word[:3] in ("'''", '"""') else 1


def _unescaped(escape: re.Match[str], start: int) -> str:
    eight, four, two = escape[3], escape[2], escape[1]
    if digits := two or four or eight:
        point = int(digits, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise Fault("syntax", f"`{escape[0]}` is not a character of Unicode", at=start + escape.start())
        return chr(point)
    if escape[4]:
        return chr(int(escape[4], 8))
    if escape[5] not in _SHORT:
        message = f"`{shorten(escape[0])}` is not an escape of strings"
        hint = "write `\\\\` for a backslash, or put an `r` before the string: `r'\\d+'`"
        raise Fault("syntax", message, hint, at=start + escape.start())
    return _SHORT[escape[5]]


def _unknown(text: str, at: int) -> Fault:
    message, hint = foreign_text(text, at)
    return Fault("syntax", message, hint, at=at)
