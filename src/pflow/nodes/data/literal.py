"""Python literals as values: what programs print with `print(result)` instead of JSON. Nothing is evaluated."""

from __future__ import annotations

import re
import unicodedata

from pflow.core.document.plain_copy import MAX_DEPTH, is_plain
from pflow.core.errors import StepError
from pflow.nodes.data.fault import fault

MOST_CHARACTERS = 16 << 20

_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[\[\](){},:])
    |(?P<prefix>[A-Za-z]{0,2})(?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    |(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    |(?P<word>[^\s\[\](){},:'"]+))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"""\\(?:(?P<newline>\n)|(?P<plain>[\\'"abfnrtv])|(?P<octal>[0-7]{1,3})|x(?P<x>[0-9a-fA-F]{2})
    |u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|N\{(?P<N>[^}]+)\})""",
    re.VERBOSE,
)
_PLAIN = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False}
_JSON_WORDS = frozenset(("null", "true", "false"))
_NUMBERS = frozenset(("nan", "inf", "-inf", "+inf", "NaN", "Infinity", "-Infinity"))
_CLOSING = {"[": "]", "(": ")", "{": "}"}

Token = tuple[str, object, int]
"""What it is (a mark, `value`, `string` or `end`), the value, and where it begins."""


def read_literal(text: str) -> object:
    """The value of a Python literal: tuples and sets become arrays, keys that are whole numbers become text."""
    if len(text) > MOST_CHARACTERS:
        raise StepError(f"`text` has {len(text):,} characters; at most {MOST_CHARACTERS:,} can be read as a literal")
    reader = _Reader(text)
    value = reader.value(1)
    reader.expect_end()
    return value


class _Reader:
    """Reads one literal from its tokens; the levels that it may have keep it from exhausting Python's stack."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._token = self._scan()

    def value(self, depth: int) -> object:
        kind, value, offset = self._token
        if kind == "value":
            self._next()
            return value
        if kind == "string":
            return self._strings()
        if kind not in _CLOSING:
            raise self._unexpected()
        if depth > MAX_DEPTH:
            raise fault(self._text, offset, f"the text is nested more than {MAX_DEPTH} levels deep")
        self._next()
        return self._braces(depth) if kind == "{" else self._sequence(kind, depth)

    def expect_end(self) -> None:
        if self._token[0] != "end":
            raise self._unexpected()

    def _sequence(self, opening: str, depth: int) -> object:
        items, commas = self._items([], _CLOSING[opening], depth)
        return items[0] if opening == "(" and len(items) == 1 and not commas else items

    def _items(self, items: list[object], closing: str, depth: int) -> tuple[list[object], int]:
        """The items up to the closing bracket, and the number of commas."""
        commas = 0
        while self._token[0] != closing:
            if len(items) > commas:
                self._take(",", closing)
                commas += 1
            else:
                items.append(self.value(depth + 1))
        self._next()
        return items, commas

    def _braces(self, depth: int) -> object:
        """An object; or a set, as an array in the order of the text."""
        found: dict[str, object] = {}
        while self._token[0] != "}":
            offset = self._token[2]
            key = self.value(depth + 1)
            if not found and self._token[0] in (",", "}"):
                return self._items([key], "}", depth)[0]
            self._take(":", "}")
            name = self._key(key, offset)
            if name in found:
                raise fault(self._text, offset, f"the key `{name[:80]}` stands twice in one object")
            found[name] = self.value(depth + 1)
            if self._token[0] != "}":
                self._take(",", "}")
        self._next()
        return found

    def _key(self, key: object, offset: int) -> str:
        if isinstance(key, bool) or not isinstance(key, str | int):
            raise fault(self._text, offset, "the keys of an object must be strings or whole numbers")
        return str(key)

    def _strings(self) -> str:
        """A string; those that stand beside each other are one."""
        parts = []
        while self._token[0] == "string":
            parts.append(str(self._token[1]))
            self._next()
        return "".join(parts)

    def _take(self, mark: str, closing: str) -> None:
        if self._token[0] != mark:
            raise self._unexpected(f"`{mark}` or `{closing}`" if mark == "," else f"`{mark}`")
        self._next()

    def _next(self) -> None:
        self._token = self._scan()

    def _scan(self) -> Token:
        text = self._text
        match = _TOKEN.match(text, self._position)
        if match is None:
            rest = text[self._position :]
            offset = self._position + len(rest) - len(rest.lstrip())
            if offset >= len(text):
                return "end", None, len(text)
            raise fault(text, offset, "a string has no end")
        self._position = match.end()
        offset = match.start(match.lastgroup or 0)
        if mark := match["mark"]:
            return mark, None, offset
        if match["string"] is not None:
            return "string", self._decode(match["prefix"].lower(), match["string"], offset), offset
        if match["number"] is not None:
            return "value", self._number(match["number"], offset), offset
        return "value", self._word(match["word"], offset), offset

    def _word(self, word: str, offset: int) -> object:
        if word in _WORDS:
            return _WORDS[word]
        if word in _NUMBERS:
            raise fault(self._text, offset, f"`{word}` is a number that JSON does not have")
        hint = "it looks like JSON: use `as: json`" if word in _JSON_WORDS else ""
        raise fault(self._text, offset, f"`{word[:40]}` is not part of a literal", hint=hint)

    def _number(self, digits: str, offset: int) -> object:
        is_whole = not set(digits) & set(".eE")
        value = float(digits) if not is_whole else int(digits) if len(digits) <= 40 else None
        if value is None or not is_plain(value) or value in (float("inf"), float("-inf")):
            hint = "numbers are finite, and integers fit into 64 bits"
            raise fault(self._text, offset, f"the number `{digits[:40]}` cannot be held", hint=hint)
        return value

    def _decode(self, prefix: str, quoted: str, offset: int) -> str:
        if prefix not in ("", "u", "r"):
            what = "bytes" if "b" in prefix else f"a string with the prefix `{prefix}`"
            raise fault(self._text, offset, f"{what} cannot be held in JSON")
        body = quoted[1:-1]
        if prefix == "r" or "\\" not in body:
            return body
        try:
            whole = _ESCAPE.sub(_unescape, body)
            whole.encode()
        except (KeyError, ValueError):
            raise fault(self._text, offset, "a string holds an escape that is not a Unicode character") from None
        return whole

    def _unexpected(self, wanted: str = "a value") -> StepError:
        kind, _, offset = self._token
        found = "the end" if kind == "end" else f"`{kind}`" if len(kind) == 1 else "a value"
        hint = "is a quote or bracket left open?" if kind == "end" else ""
        return fault(self._text, offset, f"{wanted} should stand here, not {found}", hint=hint)


def _unescape(match: re.Match[str]) -> str:
    """The character that an escape stands for; raises `KeyError` or `ValueError` for one that there is not."""
    if match["newline"]:
        return ""
    if plain := match["plain"]:
        return _PLAIN.get(plain, plain)
    if name := match["N"]:
        return unicodedata.lookup(name)
    return chr(int(match["octal"], 8)) if match["octal"] else chr(int(match["x"] or match["u"] or match["U"], 16))
