"""Reads POSIX shell text far enough to know what quotes each template stands in. It runs and rewrites nothing.

Where shells differ, or where the text does not say enough, it gives up: a template that cannot be placed for
certain is refused. A mistake here could at worst split a value into words, since values never become text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pflow.core.printable import shorten
from pflow.core.template.compiled import Problem, Reference
from pflow.core.template.shell_code import (
    DYNAMIC,
    INSTEAD,
    SLOT,
    Refusal,
    Word,
    reads_code,
    refused_words,
    sets_integers,
)
from pflow.core.template.shell_word import Quotes, Unclear, WordReader, refusal_at

Closer = Literal["", ")", "esac"]

_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|]")
_REDIRECT = re.compile(r"<<<|<<-?|<&|<>|<\(|>\(|>>|>&|>\||[<>]")
_EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")
_DELIMITER = re.compile(r"(?:[^ \t\n;&|<>()'\"\\$`]|'[^']*'|\"[^\"\\$`]*\"|\\[^\n])+")
_LEADING = frozenset(["if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"])
_CLOSING = frozenset(["}", "fi", "done", "esac", ")", "))", "]]"])


class _Here:
    """A here-document that was announced and whose body is still to come."""

    __slots__ = ("delimiter", "fed", "quoted", "tabs")

    def __init__(self, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        self.delimiter = delimiter
        self.quoted = quoted
        self.tabs = tabs
        self.fed = False


class _Command:
    """The simple command being read, and the pipeline it is part of."""

    __slots__ = ("fed", "frame", "heres", "piped", "start", "words")

    def __init__(self, start: int) -> None:
        self.frame = start
        self.words: list[Word] = []
        self.fed: list[Word] = []
        self.heres: list[_Here] = []
        self.piped = False
        self.start = start


def place_slots(
    parts: Sequence[str | Reference], references: Sequence[Reference]
) -> tuple[list[Quotes], list[Problem]]:
    """The quotes that each template stands in, or the problems with where they stand."""
    slots: list[Quotes | Refusal] = []
    try:
        _Lexer("".join(part if isinstance(part, str) else SLOT for part in parts), slots, 0, None).read()
        if len(slots) != len(references):
            raise Unclear("the command has a form that is not understood")
    except Unclear as unclear:
        at = references[min(len(slots), len(references) - 1)]
        message = f"cannot tell how the shell would read `{shorten(at.text)}`: {unclear}"
        return [], [Problem(message, INSTEAD, (), at.offset)]
    problems = [
        Problem(f"`{shorten(reference.text)}` {slot.why}", slot.hint, (), reference.offset)
        for reference, slot in zip(references, slots, strict=True)
        if isinstance(slot, Refusal)
    ]
    return [slot for slot in slots if not isinstance(slot, Refusal)], problems


class _Lexer(WordReader):
    def __init__(self, text: str, slots: list[Quotes | Refusal], depth: int, refusal: Refusal | None) -> None:
        super().__init__(text, slots, depth, refusal)
        self.pending: list[_Here] = []
        self.held = False

    def read(self) -> None:
        self._commands("")
        if self.pending:
            raise Unclear("a here-document has no end")

    def substitution(self) -> None:
        outer, self.pending = self.pending, []
        held, self.held = self.held, self.held or bool(outer)
        self._commands(")")
        if self.pending:
            raise Unclear("a here-document does not end inside its `$(…)`")
        self.pending, self.held = outer, held

    def _refuse(self, first: int, last: int, refusal: Refusal) -> None:
        for index in range(first, last):
            if self.slots[index] != "comment" and not isinstance(self.slots[index], Refusal):
                self.slots[index] = refusal

    # Commands

    def _commands(self, closer: Closer) -> bool:
        """Read up to the closer and past it; whether that was the word `esac`."""
        with self._deeper():
            command = _Command(len(self.slots))
            while True:
                self._blanks()
                char = self._peek()
                if not char:
                    self._finish(command, "")
                    if closer:
                        raise Unclear(f"`{closer}` is missing")
                    return False
                if char == "\n":
                    self._finish(command, char)
                    self._newline()
                elif char == "#":
                    self._comment()
                elif char in ";&|":
                    operator = self._match(_OPERATOR)
                    self._finish(command, operator)
                    if operator in (";;", ";&", ";;&"):
                        if closer != "esac":
                            raise Unclear(f"`{operator}` stands outside of `case`")
                        return False
                elif char == "(":
                    self._parenthesis(command)
                elif char == ")":
                    if closer != ")":
                        raise Unclear("a `)` has no `(`")
                    self._finish(command, char)
                    self.position += 1
                    return False
                elif char in "<>":
                    self._redirect(command)
                elif self._add(command, self._word()):
                    if closer != "esac":
                        raise Unclear("`esac` stands outside of `case`")
                    return True

    def _add(self, command: _Command, word: Word) -> bool:
        """Take a word into the command; whether it is an `esac` that ends the commands instead."""
        if word.bare and word.text.isdigit() and self._peek() in ("<", ">"):
            return False  # the number of a file descriptor
        text = word.text if word.bare and not command.words else ""
        if text == "esac":
            return True
        if text == "case":
            self._case()
            command.words.append(Word("esac"))
        elif text in ("for", "select"):
            self._blanks()
            with self._refusing("variable"):
                if self._peek() != "(":
                    self._word()
            command.words.append(Word("for"))
        elif text == "function":
            self._blanks()
            with self._refusing("variable"):
                self._word()
            self._blanks()
            if found := _EMPTY_PARENTHESES.match(self.text, self.position):
                self.position = found.end()
        elif text == "[[":
            self._test()
            command.words.append(Word("]]"))
        elif text not in _LEADING:
            command.words.append(word)
        return False

    def _finish(self, command: _Command, operator: str) -> None:
        words = command.words
        if sets_integers(words):
            raise Unclear("with integer variables, the shell evaluates what is assigned")
        for word, refusal in refused_words(words) if words and words[0].text != "for" else ():
            self._refuse(word.first, word.last, refusal)
        if words and reads_code(words):
            fed = refusal_at("fed")
            for word in command.fed:
                self._refuse(word.first, word.last, fed)
            for here in command.heres:
                here.fed = True
            if command.piped:
                self._refuse(command.start, len(self.slots), fed)
                command.start = command.frame = len(self.slots)
        if operator in ("|", "|&"):
            if words and words[0].text in _CLOSING:
                command.start = command.frame
            command.piped = True
        elif not (operator == "\n" and command.piped and not words):
            command.start = len(self.slots)
            command.heres = []
            command.piped = False
        command.words = []
        command.fed = []

    def _parenthesis(self, command: _Command) -> None:
        words = command.words
        if self.text.startswith("((", self.position) and (not words or words[-1].text == "for"):
            self.position += 2
            self._arithmetic()
            words.append(Word("))"))
        elif not words or (words[-1].text.endswith("=") and self.text[self.position - 1] == "="):
            self.position += 1
            self._commands(")")
            if not words:
                words.append(Word(")"))
        elif len(words) == 1 and (found := _EMPTY_PARENTHESES.match(self.text, self.position)):
            self.position = found.end()
            words.clear()
        else:
            raise Unclear("a `(` stands where the shell expects none")

    def _redirect(self, command: _Command) -> None:
        operator = self._match(_REDIRECT)
        if self.text.startswith("\\\n", self.position) and operator in ("<", ">", "<<"):
            raise Unclear(f"a line break follows `{operator}`")
        first = len(self.slots)
        if operator in ("<(", ">("):
            self._commands(")")
            command.words.append(Word(DYNAMIC, first, len(self.slots), False))
            return
        self._blanks()
        if operator in ("<<", "<<-"):
            self._announce(command, tabs=operator == "<<-")
        elif self._peek() not in ("", "\n", *";&|<>()"):
            word = self._word()
            if operator in ("<", "<<<"):
                command.fed.append(word)

    def _case(self) -> None:
        self._blanks()
        self._word()
        self._lines()
        if self._word().text != "in":
            raise Unclear("`case` has no `in`")
        while True:
            self._lines()
            if self._peek() == "(":
                self.position += 1
                self._blanks()
            pattern = self._word()
            if pattern.bare and pattern.text == "esac":
                return
            self._blanks()
            while self._peek() == "|":
                self.position += 1
                self._blanks()
                self._word()
                self._blanks()
            if self._peek() != ")":
                raise Unclear("a pattern of `case` has no `)`")
            self.position += 1
            if self._commands("esac"):
                return

    def _test(self) -> None:
        with self._refusing("test"):
            while True:
                self._lines()
                if not self._peek():
                    raise Unclear("`[[` has no `]]`")
                if self._peek() in "();&|<>":
                    self.position += 1
                    continue
                word = self._word()
                if word.bare and word.text == "]]":
                    return

    # Lines

    def _lines(self) -> None:
        """Pass blanks, comments and line breaks."""
        while True:
            self._blanks()
            if self._peek() == "\n":
                self._newline()
            elif self._peek() == "#":
                self._comment()
            else:
                return

    def _comment(self) -> None:
        end = self.text.find("\n", self.position)
        end = len(self.text) if end < 0 else end
        self.slots.extend(["comment"] * self.text.count(SLOT, self.position, end))
        self.position = end

    def _newline(self) -> None:
        if self.held:
            raise Unclear("a line break stands between a here-document and its body")
        self.position += 1
        pending, self.pending = self.pending, []
        for here in pending:
            self._body(here)

    # Here-documents

    def _announce(self, command: _Command, *, tabs: bool) -> None:
        raw = self._match(_DELIMITER)
        if SLOT in raw:
            raise Unclear("the delimiter of a here-document must be written out")
        if self._peek() in ("'", '"', "\\", "$", "`"):
            raise Unclear("the delimiter of a here-document has a form that is not understood")
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", raw)
        here = _Here(delimiter, quoted=delimiter != raw or raw[:1] in "'\"", tabs=tabs)
        self.pending.append(here)
        command.heres.append(here)

    def _body(self, here: _Here) -> None:
        start = self.position
        joined = False
        while True:
            line_start = self.position
            if line_start >= len(self.text):
                raise Unclear("a here-document has no end")
            end = self.text.find("\n", line_start)
            end = len(self.text) if end < 0 else end
            line = self.text[line_start:end]
            self.position = min(end + 1, len(self.text))
            if not joined and (line.lstrip("\t") if here.tabs else line) == here.delimiter:
                break
            joined = not here.quoted and (len(line) - len(line.rstrip("\\"))) % 2 == 1
        body = self.text[start:line_start]
        if here.quoted:
            self.slots.extend([self.refusal or refusal_at("here")] * body.count(SLOT))
            return
        refusal = self.refusal or (refusal_at("fed") if here.fed else None)
        _Lexer(body, self.slots, self.depth, refusal).read_body()

    def read_body(self) -> None:
        """Read the text as the body of a here-document."""
        with self._deeper():
            while char := self._peek():
                if self._special(char, "double", "body") is None:
                    self.position += 1
