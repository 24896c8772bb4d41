"""Reads POSIX shell text far enough to know what quotes each template stands in, and where values go.

It runs and rewrites nothing. Where shells differ, or where the text does not say enough, it gives up: a template that
cannot be placed for certain is refused. A mistake here could at worst split a value into words, since values never
become text that the shell parses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pflow.core.template.shell_code import DYNAMIC, INSTEAD, SLOT, Refusal, Word, names_stdin, sets_integers
from pflow.core.template.shell_command import CLOSING, Command, CommandCheck, Here, Script
from pflow.core.template.shell_flow import Flow, Slot
from pflow.core.template.shell_word import Unclear, WordReader, refusal_at

Closer = Literal["", ")", "esac"]

_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|]")
_REDIRECT = re.compile(r"<<<|<<-?|<&|<>|<\(|>\(|>>|>&|>\||[<>]")
_EMPTY_PARENTHESES = re.compile(r"\([ \t]*\)")
_DELIMITER = re.compile(r"(?:[^ \t\n;&|<>()'\"\\$`]|'[^']*'|\"[^\"\\$`]*\"|\\[^\n])+")
_LEADING = frozenset(["if", "then", "else", "elif", "do", "while", "until", "!", "{", "coproc"])
_COMPOUND = frozenset(["if", "while", "until", "for", "select", "case", "{"])
_COMPARES = frozenset(["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"])

_DEEPEST_SCRIPT = 12
_MOST_PASSES = 6
"""Readings of one text, each of which knows the variables that the last one found to hold values."""


def read_script(text: str, flow: Flow) -> list[Slot]:
    """The places of values in a script, in their order. Raises `Unclear`."""
    for _ in range(_MOST_PASSES):
        slots: list[Slot] = []
        flow.grew = False
        try:
            _Lexer(text, slots, flow, 0, None).read()
        except Unclear as unclear:
            unclear.passed = sum(not slot.variable for slot in slots)
            raise
        if not flow.grew:
            return slots
    raise Unclear("its variables depend on each other in too many ways")


def check_words(words: Sequence[Word], count: int, flow: Flow) -> list[Slot]:
    """The same for a command that no shell reads: a slot for each of its templates, and those of a script in it."""
    slots = [Slot() for _ in range(count)]
    command = Command(count)
    command.words = list(words)
    lexer = _Lexer("", slots, flow, 0, None)
    for script in lexer.check.check(command):
        lexer.read_inner(script)
    return slots


class _Lexer(WordReader):
    def __init__(self, text: str, slots: list[Slot], flow: Flow, depth: int, refusal: Refusal | None) -> None:
        super().__init__(text, slots, flow, depth, refusal)
        self.check = CommandCheck(slots, flow)
        self.pending: list[Here] = []
        self.held = False
        self.counts = False

    def read(self) -> None:
        self._commands("")
        if self.pending:
            raise Unclear("a here-document has no end")

    def substitution(self) -> str:
        first = len(self.slots)
        outer, self.pending = self.pending, []
        held, self.held = self.held, self.held or bool(outer)
        self._commands(")")
        if self.pending:
            raise Unclear("a here-document does not end inside its `$(…)`")
        self.pending, self.held = outer, held
        return self._output(first)

    def nested(self, text: str) -> str:
        first = len(self.slots)
        inner = _Lexer(text, self.slots, self.flow, self.depth, self.refusal)
        inner.template_refusal = self.template_refusal
        inner.read()
        self.counts = inner.counts
        return self._output(first)

    def _output(self, first: int) -> str:
        """What stands for the output of commands: a value, if they were given one and do not only count."""
        held = any(slot.quotes != "comment" for slot in self.slots[first:])
        return SLOT if held and not self.counts else DYNAMIC

    def read_inner(self, script: Script) -> None:
        """Read a script that the command gives to a shell, for the variables in it."""
        first = len(self.slots)
        try:
            if self.depth > _DEEPEST_SCRIPT:
                raise Unclear("its scripts are nested too deeply")
            with self._deeper():
                _Lexer(script.text, self.slots, script.flow, self.depth, None).read()
        except Unclear as unclear:
            del self.slots[first:]
            name = next((name for name in sorted(script.flow.names) if re.search(rf"\b{name}\b", script.text)), "")
            if name:
                refusal = Refusal(f"stands in a script that is not understood: {unclear}", INSTEAD)
                self.slots.append(Slot("none", refusal, name))

    # Commands

    def _commands(self, closer: Closer) -> bool:
        """Read up to the closer and past it; whether that was the word `esac`."""
        with self._deeper():
            command = Command(len(self.slots))
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

    def _add(self, command: Command, word: Word) -> bool:
        """Take a word into the command; whether it is an `esac` that ends the commands instead."""
        if word.bare and word.text.isdigit() and self._peek() in ("<", ">"):
            return False  # the number of a file descriptor
        text = word.text if word.bare and not command.words else ""
        if text == "esac":
            return True
        if text in _COMPOUND:
            self._pipe_into(command)
        if text == "case":
            self._case()
            command.words.append(Word("esac"))
        elif text in ("for", "select"):
            self._blanks()
            with self._refusing("variable"):
                command.loop = self._word().text if self._peek() != "(" else ""
            command.words.append(Word("for"))
        elif text == "function":
            self._blanks()
            with self._refusing("variable"):
                self.flow.functions.add(self._word().text)
            self._blanks()
            if found := _EMPTY_PARENTHESES.match(self.text, self.position):
                self.position = found.end()
        elif text == "[[":
            self._test()
            command.words.append(Word("]]"))
        elif text not in _LEADING:
            command.words.append(word)
        return False

    def _finish(self, command: Command, operator: str) -> None:
        words = command.words
        if sets_integers(words):
            raise Unclear("with integer variables, the shell evaluates what is assigned")
        if words or command.fed or command.heres or command.files or command.inherits:
            for script in self.check.check(command):
                self.read_inner(script)
            self.counts = command.counts
        if operator in ("|", "|&"):
            if words and words[0].text in CLOSING:
                command.start = command.frame
                command.said = [(command.frame, len(self.slots))]
            command.piped = True
        elif not (operator == "\n" and command.piped and not words):
            command.start = len(self.slots)
            command.heres = []
            command.said = []
            command.texts = []
            command.piped = False
        command.words = []
        command.fed = []
        command.files = []
        command.inherits = False
        command.loop = ""

    def _pipe_into(self, command: Command) -> None:
        """What is piped into a compound command reaches the commands in it."""
        if command.piped and len(self.slots) > command.start:
            self.flow.add_input()

    def _parenthesis(self, command: Command) -> None:
        words = command.words
        if self.text.startswith("((", self.position) and (not words or words[-1].text == "for"):
            self.position += 2
            self._arithmetic()
            words.append(Word("))"))
        elif not words:
            self._pipe_into(command)
            self.position += 1
            self._commands(")")
            words.append(Word(")"))
        elif words[-1].text.endswith("=") and self.text[self.position - 1] == "=":
            self.position += 1
            words[-1] = self._array(words[-1])
        elif len(words) == 1 and (found := _EMPTY_PARENTHESES.match(self.text, self.position)):
            self.position = found.end()
            self.flow.functions.add(words[0].text)
            words.clear()
        else:
            raise Unclear("a `(` stands where the shell expects none")

    def _array(self, assigned: Word) -> Word:
        """Read the elements of an array; the assignment with what they hold."""
        texts = [assigned.text]
        while True:
            self._lines()
            if self._peek() == ")":
                self.position += 1
                return Word("".join(texts), assigned.first, len(self.slots), False)
            first = len(self.slots)
            word = self._word()
            texts.append(word.text)
            if word.text.startswith("[") and SLOT in word.text.partition("]=")[0]:
                self.check.refuse(first, len(self.slots), refusal_at("operator"))

    def _redirect(self, command: Command) -> None:
        operator = self._match(_REDIRECT)
        if self.text.startswith("\\\n", self.position) and operator in ("<", ">", "<<"):
            raise Unclear(f"a line break follows `{operator}`")
        first = len(self.slots)
        if operator in ("<(", ">("):
            self._commands(")")
            command.words.append(Word(self._output(first), first, len(self.slots), False))
            return
        self._blanks()
        if operator in ("<<", "<<-"):
            self._announce(command, tabs=operator == "<<-")
        elif self._peek() not in ("", "\n", *";&|<>()"):
            word = self._word()
            if operator == "<" and names_stdin(word.text):
                command.inherits = True
            elif operator.startswith(">") and operator != ">&":
                command.files.append(word.text)
            elif operator in ("<", "<<<"):
                command.fed.append((operator, word))

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
        first = len(self.slots)
        words: list[str] = []
        with self._refusing_templates("test"):
            while True:
                self._lines()
                if not self._peek():
                    raise Unclear("`[[` has no `]]`")
                if self._peek() in "();&|<>":
                    self.position += 1
                    continue
                word = self._word()
                if word.bare and word.text == "]]":
                    break
                words.append(word.text)
        if not _COMPARES.isdisjoint(words):
            for name in words:
                if name.isidentifier():
                    self._variable(name)
            self.check.refuse(first, len(self.slots), refusal_at("test"))

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
        self.slots.extend(Slot("comment") for _ in range(self.text.count(SLOT, self.position, end)))
        self.position = end

    def _newline(self) -> None:
        if self.held:
            raise Unclear("a line break stands between a here-document and its body")
        self.position += 1
        pending, self.pending = self.pending, []
        for here in pending:
            self._body(here)

    # Here-documents

    def _announce(self, command: Command, *, tabs: bool) -> None:
        raw = self._match(_DELIMITER)
        if SLOT in raw:
            raise Unclear("the delimiter of a here-document must be written out")
        if self._peek() in ("'", '"', "\\", "$", "`"):
            raise Unclear("the delimiter of a here-document has a form that is not understood")
        delimiter = re.sub(r"\\(.)|['\"]", r"\1", raw)
        here = Here(delimiter, quoted=delimiter != raw or raw[:1] in "'\"", tabs=tabs)
        self.pending.append(here)
        command.heres.append(here)

    def _body(self, here: Here) -> None:
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
        if here.script is not None and SLOT not in body:
            written = body if here.quoted else re.sub(r"\\([$`\\])", r"\1", body)
            self.read_inner(Script(written, here.script))
        if here.quoted:
            self.slots.extend(Slot("none", self.refusal or refusal_at("here")) for _ in range(body.count(SLOT)))
            return
        first = len(self.slots)
        refusal = self.refusal or (refusal_at("fed") if here.fed else None)
        _Lexer(body, self.slots, self.flow, self.depth, refusal).read_body()
        if len(self.slots) > first:
            for name in here.names:
                self.flow.add_name(name)
            for path in here.files:
                self.flow.add_file(path)
            if here.compound:
                self.flow.add_input()

    def read_body(self) -> None:
        """Read the text as the body of a here-document."""
        with self._deeper():
            while char := self._peek():
                if self._special(char, "double", "body") is None:
                    self.position += 1
