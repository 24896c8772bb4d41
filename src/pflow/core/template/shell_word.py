"""Reads the words of POSIX shell text: quotes, escapes, `$` and backquotes. Commands are read elsewhere."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pflow.core.template.shell_code import DYNAMIC, INSTEAD, SLOT, Refusal, Word

Quotes = Literal["none", "double", "single", "comment"]
Inside = Literal["none", "double", "body"]
"""What a `$` or a backquote stands in: nothing, double quotes, or the body of a here-document."""

_DEEPEST_LEVELS = 40
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`\0]+")
_PLAIN_QUOTED = re.compile(r'[^"\\$`\0]+')
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[-@*#?$!0-9]")

_PLACES = {
    "arithmetic": ("stands in arithmetic, where its value would be evaluated", "compute it in a `code` step"),
    "test": ("stands in `[[ … ]]`, which can evaluate its value", "write `[ … ]`"),
    "expansion": ("stands inside another `${…}`", INSTEAD),
    "ansi": ("stands in `$'…'`, where nothing is filled in", "write plain quotes"),
    "locale": ('stands in `$"…"`, which the shell may translate', "write plain quotes"),
    "here": ("stands in a here-document with quotes around its delimiter", "write `<<EOF`, or use `stdin`"),
    "fed": ("would become part of a script that a program reads", INSTEAD),
    "backslash": ("follows a backslash", "for a shell variable write `$NAME` or `$${NAME}`; else drop the backslash"),
    "dollar": ("follows a `$`", 'write `"\\$"` before it for a dollar sign'),
    "variable": ("would name a variable", "write the name out"),
}  # fmt: skip


class Unclear(Exception):
    """The text cannot be read for certain; the message says why."""


def refusal_at(place: str) -> Refusal:
    """Why a template cannot stand in a place of this kind."""
    return Refusal(*_PLACES[place])


class WordReader(ABC):
    """A text, how far it is read, and what is known of each slot so far."""

    def __init__(self, text: str, slots: list[Quotes | Refusal], depth: int, refusal: Refusal | None) -> None:
        self.text = text
        self.position = 0
        self.slots = slots
        self.depth = depth
        self.refusal = refusal

    @abstractmethod
    def read(self) -> None:
        """Read the whole text as commands."""

    @abstractmethod
    def substitution(self) -> None:
        """Read commands up to the `)` of a `$(`, and past it."""

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _take(self, quotes: Quotes) -> None:
        self.slots.append(self.refusal or quotes)
        self.position += 1

    @contextmanager
    def _refusing(self, place: str) -> Iterator[None]:
        before, self.refusal = self.refusal, self.refusal or refusal_at(place)
        yield
        self.refusal = before

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > _DEEPEST_LEVELS:
            raise Unclear(f"it is nested more than {_DEEPEST_LEVELS} levels deep")
        yield
        self.depth -= 1

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.position)
        if found is None:
            raise Unclear("the command has a form that is not understood")
        self.position = found.end()
        return found[0]

    def _blanks(self) -> None:
        if found := _BLANK.match(self.text, self.position):
            self.position = found.end()

    # Words

    def _word(self) -> Word:
        first = len(self.slots)
        begin = self.position
        parts: list[str] = []
        bare = True
        while char := self._peek():
            if found := _PLAIN.match(self.text, self.position):
                parts.append(found[0])
                self.position = found.end()
            elif char in "'\"":
                parts.append(self._single() if char == "'" else self._double())
                bare = False
            elif (special := self._special(char, "none", "none")) is not None:
                parts.append(special)
                bare = bare and not (char == "\\" and special)
            else:
                break
        if self.position == begin:
            raise Unclear(f"`{self._peek() or 'the end'}` stands where the shell expects a word")
        return Word("".join(parts), first, len(self.slots), bare)

    def _special(self, char: str, quotes: Quotes, inside: Inside) -> str | None:
        """Pass a template, or what a backslash, dollar sign or backquote begins; its text, None for anything else."""
        if char == SLOT:
            self._take(quotes)
            return SLOT
        if char == "\\":
            return self._escaped()
        if char == "$":
            return self._dollar(inside)
        return self._backquotes(inside) if char == "`" else None

    def _escaped(self) -> str:
        """Pass a backslash and what it escapes; that character, nothing for a line break."""
        self.position += 1
        char = self._peek()
        if char == SLOT:
            with self._refusing("backslash"):
                self._take("none")
            return SLOT
        self.position += 1
        return "" if char == "\n" else char

    def _single(self) -> str:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise Unclear("a single quote has no end")
        inner = self.text[self.position + 1 : end]
        for _ in range(inner.count(SLOT)):
            self._take("single")
        self.position = end + 1
        return inner

    def _double(self) -> str:
        self.position += 1
        parts: list[str] = []
        while (char := self._peek()) != '"':
            if not char:
                raise Unclear("a double quote has no end")
            special = self._special(char, "double", "double")
            parts.append(self._match(_PLAIN_QUOTED) if special is None else special)
        self.position += 1
        return "".join(parts)

    # What begins with a dollar sign or a backquote

    def _dollar(self, inside: Inside) -> str:
        self.position += 1
        rest = self.text[self.position : self.position + 2]
        if rest == "((":
            self.position += 2
            self._arithmetic()
        elif rest.startswith("("):
            self.position += 1
            self.substitution()
        elif rest.startswith("{"):
            self.position += 1
            self._braces(inside)
        elif rest.startswith("'") and inside == "none":
            self._ansi()
        elif rest.startswith('"') and inside == "none":
            with self._refusing("locale"):
                self._double()
        elif rest.startswith(SLOT):
            with self._refusing("dollar"):
                self._take("none")
        elif rest.startswith("["):
            raise Unclear("`$[` means different things to different shells")
        elif rest == "\\\n":
            raise Unclear("a line break follows `$`")
        elif found := _VARIABLE.match(self.text, self.position):
            self.position = found.end()
        else:
            return "$"
        return DYNAMIC

    def _arithmetic(self) -> None:
        open_parentheses = 0
        with self._deeper(), self._refusing("arithmetic"):
            while open_parentheses or not self.text.startswith("))", self.position):
                char = self._peek()
                if not char or char == "'" or (char == ")" and not open_parentheses):
                    raise Unclear("`((` is not understood; for a subshell write `( (`")
                open_parentheses += (char == "(") - (char == ")")
                self._inner(char, "double")
            self.position += 2

    def _braces(self, inside: Inside) -> None:
        with self._deeper(), self._refusing("expansion"):
            while (char := self._peek()) != "}":
                if not char:
                    raise Unclear("`${` has no `}`")
                if (char == "'" and inside != "none") or (char == '"' and inside == "body"):
                    raise Unclear("quotes inside `${…}` mean different things to different shells")
                self._inner(char, inside)
            self.position += 1

    def _inner(self, char: str, inside: Inside) -> None:
        """Pass one character, or what it opens, inside arithmetic or braces."""
        if char == "'":
            self._single()
        elif char == '"':
            self._double()
        elif self._special(char, "none", inside) is None:
            self.position += 1

    def _ansi(self) -> None:
        with self._refusing("ansi"):
            self._single()
            if self.text[self.position - 2] == "\\":
                raise Unclear("`\\'` inside `$'…'` means different things to different shells")

    def _backquotes(self, inside: Inside) -> str:
        end = self.position + 1
        while self.text[end : end + 1] != "`":
            if end >= len(self.text):
                raise Unclear("a backquote has no end")
            if self.text[end] == "\\" and self.text[end + 1 : end + 2] == SLOT:
                raise Unclear("a backslash stands before it")
            end += 2 if self.text[end] == "\\" else 1
        inner = self.text[self.position + 1 : end]
        if inside == "body" and '\\"' in inner:
            raise Unclear('`\\"` in backquotes in a here-document means different things to different shells')
        inner = re.sub(r'\\([$`\\"])' if inside == "double" else r"\\([$`\\])", r"\1", inner)
        with self._deeper():
            type(self)(inner, self.slots, self.depth, self.refusal).read()
        self.position = end + 1
        return DYNAMIC
