"""Reads the words of POSIX shell text: quotes, escapes, `$` and backquotes. Commands are read elsewhere."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pflow.core.template.shell_code import DYNAMIC, INSTEAD, LATER, SLOT, Refusal, Word
from pflow.core.template.shell_flow import Flow, Quotes, Slot
from pflow.core.template.shell_program import LIST

Inside = Literal["none", "double", "body"]
"""What a `$` or a backquote stands in: nothing, double quotes, or the body of a here-document."""

_DEEPEST_LEVELS = 40
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`\0]+")
_PLAIN_QUOTED = re.compile(r'[^"\\$`\0]+')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE = re.compile(rf"{_NAME.pattern}|[-@*#?$!0-9]")
_PARAMETER = re.compile(rf"([#!]?)({_NAME.pattern}|[0-9]+|[@*])")

_FED = f"{LIST}; or write the script out and pass the value as an argument"
_PLACES = {
    "arithmetic": ("stands in arithmetic, where its value would be evaluated", "compute it in a `code` step"),
    "test": ("stands in `[[ … ]]`, which can evaluate its value", "write `[ … ]`"),
    "operator": ("stands where the shell evaluates its value", "compute it in a `code` step"),
    "expansion": ("stands inside another `${…}`", INSTEAD),
    "ansi": ("stands in `$'…'`, where nothing is filled in", "write plain quotes"),
    "locale": ('stands in `$"…"`, which the shell may translate', "write plain quotes"),
    "here": ("stands in a here-document with quotes around its delimiter", "write `<<EOF`, or use `stdin`"),
    "fed": ("would become part of a script that a program reads", _FED),
    "backslash": ("follows a backslash", "for a shell variable write `$NAME` or `$${NAME}`; else drop the backslash"),
    "dollar": ("follows a `$`", 'write `"\\$"` before it for a dollar sign'),
    "variable": ("would name a variable", "write the name out"),
}  # fmt: skip


_NOT_FILLED_IN = frozenset(["expansion", "ansi", "locale", "here", "backslash", "dollar"])


class Unclear(Exception):
    """The text cannot be read for certain; the message says why, `passed` how many templates were read."""

    passed = 0


def refusal_at(place: str) -> Refusal:
    """Why a template cannot stand in a place of this kind."""
    return Refusal(*_PLACES[place], lint=place not in _NOT_FILLED_IN)


class WordReader(ABC):
    """A text, how far it is read, and what is known of each slot so far."""

    def __init__(self, text: str, slots: list[Slot], flow: Flow, depth: int, refusal: Refusal | None) -> None:
        self.text = text
        self.position = 0
        self.slots = slots
        self.flow = flow
        self.depth = depth
        self.refusal = refusal
        self.template_refusal: Refusal | None = None

    @abstractmethod
    def read(self) -> None:
        """Read the whole text as commands."""

    @abstractmethod
    def substitution(self) -> str:
        """Read commands up to the `)` of a `$(`, and past it; what stands for their output."""

    @abstractmethod
    def nested(self, text: str) -> str:
        """Read commands that stand in backquotes; what stands for their output."""

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _take(self, quotes: Quotes) -> None:
        """Pass a template."""
        self.slots.append(Slot(quotes, self.refusal or self.template_refusal))
        self.position += 1

    def _variable(self, name: str, refusal: Refusal | None = None) -> str:
        """What stands for a variable; one that holds a value has a slot."""
        text = self.flow.read(name)
        if text != DYNAMIC:
            self.slots.append(Slot("none", self.refusal or refusal, name))
        return text

    @contextmanager
    def _refusing(self, place: str) -> Iterator[None]:
        before, self.refusal = self.refusal, self.refusal or refusal_at(place)
        yield
        self.refusal = before

    @contextmanager
    def _refusing_templates(self, place: str) -> Iterator[None]:
        """Refuse templates but not variables, which the shell itself fills in."""
        before, self.template_refusal = self.template_refusal, self.template_refusal or refusal_at(place)
        yield
        self.template_refusal = before

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
            return self.substitution()
        elif rest.startswith("{"):
            self.position += 1
            return self._braces(inside)
        elif rest.startswith("'") and inside == "none":
            return self._ansi()
        elif rest.startswith('"') and inside == "none":
            with self._refusing_templates("locale"):
                return self._double()
        elif rest.startswith(SLOT):
            with self._refusing("dollar"):
                self._take("none")
        elif rest.startswith("["):
            raise Unclear("`$[` means different things to different shells")
        elif rest == "\\\n":
            raise Unclear("a line break follows `$`")
        elif found := _VARIABLE.match(self.text, self.position):
            self.position = found.end()
            return self._variable(found[0])
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
                if found := _NAME.match(self.text, self.position):
                    self.position = found.end()
                    self._variable(found[0])  # arithmetic evaluates what a name holds, without any `$`
                else:
                    self._inner(char, "double")
            self.position += 2

    def _braces(self, inside: Inside) -> str:
        """Pass what follows `${`; what stands for its value."""
        found = _PARAMETER.match(self.text, self.position)
        first = len(self.slots)
        prefix, name = (found[1], found[2]) if found else ("", "")
        if found:
            self.position = found.end()
        operator = self.text[self.position : self.position + 2]
        evaluates = operator[:1] in ("[", "@") or (operator[:1] == ":" and operator[1:] not in ("-", "=", "?", "+"))
        if prefix != "#" or evaluates:
            self._variable(name, refusal_at("variable") if prefix == "!" else None)
        own = len(self.slots)
        with self._deeper(), self._refusing_templates("expansion"):
            while (char := self._peek()) != "}":
                if not char:
                    raise Unclear("`${` has no `}`")
                if (char == "'" and inside != "none") or (char == '"' and inside == "body"):
                    raise Unclear("quotes inside `${…}` mean different things to different shells")
                self._inner(char, inside)
            self.position += 1
        for slot in self.slots[first if operator[:1] == "@" else own :] if evaluates else ():
            slot.refusal = slot.refusal or refusal_at("operator")
        if operator.lstrip(":").startswith("=") and len(self.slots) > own:
            self.flow.add_name(name)
        if len(self.slots) == first:
            return DYNAMIC
        return LATER if len(self.slots) == own and self.flow.read(name) == LATER else SLOT

    def _inner(self, char: str, inside: Inside) -> None:
        """Pass one character, or what it opens, inside arithmetic or braces."""
        if char == "'":
            self._single()
        elif char == '"':
            self._double()
        elif self._special(char, "none", inside) is None:
            self.position += 1

    def _ansi(self) -> str:
        with self._refusing("ansi"):
            text = self._single()
            if self.text[self.position - 2] == "\\":
                raise Unclear("`\\'` inside `$'…'` means different things to different shells")
        return text

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
            text = self.nested(inner)
        self.position = end + 1
        return text
