"""What a simple shell command does with values: which it would run, and where it puts them. Reads no text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pflow.core.template.shell_code import (
    ASSIGNMENT,
    SLOT,
    Level,
    Refusal,
    Word,
    code_refusal,
    read_levels,
    refused_words,
    runs_script,
)
from pflow.core.template.shell_flow import Flow, Slot
from pflow.core.template.shell_program import COUNTING, READING, SHELLS, SPEAKING
from pflow.core.template.shell_word import refusal_at

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_READS = frozenset(["read", "mapfile", "readarray", "getopts"])
_READ_BY_DEFAULT = ("REPLY", "MAPFILE", "OPTARG")
CLOSING = frozenset(["}", "fi", "done", "esac", ")", "))", "]]"])
"""Words that end a compound command."""


class Here:
    """A here-document that was announced and whose body is still to come.

    It is `fed` to a program that runs it (a shell, if `script` says which values are where then), becomes the variables
    in `names`, goes to `files`, or is the input of a `compound` command.
    """

    __slots__ = ("compound", "delimiter", "fed", "files", "names", "quoted", "script", "tabs")

    def __init__(self, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        self.delimiter = delimiter
        self.quoted = quoted
        self.tabs = tabs
        self.fed = self.compound = False
        self.names: tuple[str, ...] = ()
        self.files: tuple[str, ...] = ()
        self.script: Flow | None = None


class Command:
    """The simple command being read, and the pipeline it is part of."""

    __slots__ = (
        "counts",
        "fed",
        "files",
        "frame",
        "heres",
        "inherits",
        "loop",
        "piped",
        "said",
        "start",
        "texts",
        "words",
    )

    def __init__(self, start: int) -> None:
        self.frame = self.start = start
        self.words: list[Word] = []
        self.fed: list[tuple[str, Word]] = []
        self.heres: list[Here] = []
        self.files: list[str] = []
        self.said: list[tuple[int, int]] = []
        self.texts: list[str] = []
        self.piped = self.counts = self.inherits = False
        self.loop = ""


class Script(NamedTuple):
    """Text that a command gives to a shell, and which values are where when that runs."""

    text: str
    flow: Flow


class CommandCheck:
    """Marks what a finished command would run, and follows the values that it assigns."""

    def __init__(self, slots: list[Slot], flow: Flow) -> None:
        self._slots = slots
        self._flow = flow

    def check(self, command: Command) -> list[Script]:
        """Check a command whose words are all read; the scripts in it that are still to be read."""
        words, flow = command.words, self._flow
        if command.loop:
            if any(word.holds_value for word in words[1:]) or (len(words) == 1 and flow.arguments):
                flow.add_name(command.loop)
            return []
        if not words or words[0].text in CLOSING:
            self._note_input(command)
            self._pass_on(command, "")
            self._write(command, ())
            return []
        levels = read_levels(words, self._has_input(command))
        for word, refusal in refused_words(words, levels):
            self.refuse(word.first, word.last, refusal)
            if word.first == word.last:  # it stands for what comes on the standard input, or for what was found
                self._refuse_input(command, refusal, strict=True)
                self.refuse(words[0].first, words[-1].last, refusal)
        for level in levels:
            self._refuse_files(command, level)
            if level.reads:
                self._refuse_input(command, refusal_at("fed"), strict=not level.program.loads)
        self._assign(command, levels)
        self._write(command, levels)
        self._pass_on(command, next((level.name for level in reversed(levels) if not level.inner), ""))
        return list(self._scripts(command, levels))

    def refuse(self, first: int, last: int, refusal: Refusal) -> None:
        """Refuse the slots of a range that are not refused yet."""
        for slot in self._slots[first:last]:
            if slot.quotes != "comment" and slot.refusal is None:
                slot.refusal = refusal

    # Files

    def _write(self, command: Command, levels: Sequence[Level]) -> None:
        """Note the files that the command writes a value to."""
        paths = [*command.files]
        for level in levels:
            paths += [word.text for word in level.data if level.name == "tee"]
        for here in command.heres:
            here.files = tuple(paths)
        if len(self._slots) > (command.start if levels else command.frame):
            for path in paths:
                self._flow.add_file(path)

    def _refuse_files(self, command: Command, level: Level) -> None:
        """Refuse to run a file that a value was written to."""
        words = [*level.files, level.head]
        if level.reads:
            words += [word for operator, word in command.fed if operator == "<"]
        for word in words:
            if self._flow.has_file(word.text):
                self._slots.append(Slot("none", code_refusal(level), f"<{word.text}"))

    # Standard input

    def _has_input(self, command: Command) -> bool:
        """Whether a value may come on the command's standard input."""
        if command.fed or command.heres:
            return bool(command.heres) or any(word.holds_value for _, word in command.fed)
        return len(self._slots) > command.start if command.piped else self._flow.input

    def _refuse_input(self, command: Command, refusal: Refusal, *, strict: bool) -> None:
        """Refuse the values that the command reads; a lenient one may be given the name of a file to read."""
        for operator, word in command.fed:
            if strict or operator == "<<<":
                self.refuse(word.first, word.last, refusal)
        for here in command.heres:
            here.fed = True
        if command.piped:
            for first, last in [(command.start, len(self._slots))] if strict else command.said:
                self.refuse(first, last, refusal)
            command.start = command.frame = len(self._slots)
            command.said = []
        elif self._flow.input and not command.fed and not command.heres:
            self._slots.append(Slot("none", refusal, "stdin"))

    def _note_input(self, command: Command) -> None:
        """What a compound command, or the whole script, gets on its standard input reaches the commands in it."""
        for here in command.heres:
            here.compound = True
        if any(word.holds_value for operator, word in command.fed if operator == "<<<"):
            self._flow.add_input()

    def _pass_on(self, command: Command, name: str) -> None:
        """Note what the program makes of its input, for those after it in the pipeline."""
        command.counts = name in COUNTING and not any(word.holds_value for word in command.words)
        if name in SPEAKING:
            command.said.append((command.words[0].first, command.words[-1].last))
            command.texts.append(" ".join(word.text for word in command.words[1:] if not word.text.startswith("-")))
        own = command.piped or command.heres or command.fed
        if self._flow.input and (command.inherits or (name in READING and not own)):
            self._slots.append(Slot(variable="stdin"))
            command.said.append((len(self._slots) - 1, len(self._slots)))

    # Variables

    def _assign(self, command: Command, levels: Sequence[Level]) -> None:
        """Note which variables, and which arguments of the script, hold values from now on."""
        words, flow = command.words, self._flow
        for word in words:
            if word.holds_value and (found := ASSIGNMENT.match(word.text)):
                flow.add_name(found[1])
        for level in levels:
            holding = {at for at, word in enumerate(level.rest, 1) if word.holds_value}
            if level.name in _READS:
                self._read(command, level)
            elif level.name == "printf" and level.rest and level.rest[0].text == "-v" and holding and level.rest[1:]:
                flow.add_name(level.rest[1].text)
            elif level.name == "set":
                skipped = next((at for at, word in enumerate(level.rest, 1) if word.text in ("--", "-")), 0)
                flow.add_arguments({at - skipped for at in holding if at > skipped})
            elif level.name == "shift" and not flow.shifts:
                flow.shifts = flow.grew = True
            elif level.name == "let":
                self._evaluate(level.rest)
            elif level.name == "exec" and len(level.rest) == 0:
                self._note_input(command)
            elif level.name in flow.functions:
                flow.add_arguments(holding)
                self._note_input(command)
                if command.piped and len(self._slots) > command.start:
                    flow.add_input()

    def _read(self, command: Command, level: Level) -> None:
        names = tuple(word.text for word in level.rest if _NAME.fullmatch(word.text)) + _READ_BY_DEFAULT
        for here in command.heres:
            here.names = names
        own = [word for operator, word in command.fed if operator == "<<<"]
        tainted = any(word.holds_value for word in own) if command.fed else self._has_input(command)
        if level.name == "getopts":
            tainted = bool(self._flow.arguments)
        elif command.heres:
            tainted = False  # known when the body is read
        for name in names if tainted else ():
            self._flow.add_name(name)

    def _evaluate(self, words: Sequence[Word]) -> None:
        for word in words:
            for name in _NAME.findall(word.text):
                if self._flow.holds(name):
                    self._slots.append(Slot("none", refusal_at("operator"), name))

    # Scripts

    def _scripts(self, command: Command, levels: Sequence[Level]) -> Iterator[Script]:
        for level in levels:
            yield from self._read_scripts(command, level)
            found = runs_script(level)
            if found is None or SLOT in found[0]:
                continue
            text, arguments = found
            if level.name in ("eval", "trap"):
                yield Script(text, self._flow)
                continue
            flow = self._flow.inner({at for at, word in enumerate(arguments, 1) if word.holds_value})
            flow.input = self._has_input(command)
            if flow.names or flow.arguments or flow.input or flow.given.every:
                yield Script(text, flow)

    def _read_scripts(self, command: Command, level: Level) -> Iterator[Script]:
        """What a shell reads from its standard input, as far as it is written out."""
        if not level.reads or level.name not in SHELLS:
            return
        flow = self._flow.inner({at for at, word in enumerate(level.data, 1) if word.holds_value})
        for here in command.heres:
            here.script = flow
        texts = [*command.texts, *(word.text for operator, word in command.fed if operator == "<<<")]
        yield from (Script(text, flow) for text in texts if SLOT not in text)
