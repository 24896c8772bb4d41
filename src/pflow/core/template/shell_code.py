"""Which words of a command would be run as code, or would choose what is. Knows programs and no shell syntax.

This is a lint: it refuses what the table of programs knows. What a program makes of an ordinary argument that begins
with `-` is between the author and that program, as in any script: `--` before the value ends the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from pflow.core.template.env_name import check_env_value
from pflow.core.template.shell_program import CARRIERS, LIST, PROGRAMS, SCRIPTED, SHELL, SHELLS, Program

SLOT = "\0"
"""Stands for a value in the text of a word, as no shell text can hold a NUL."""

DYNAMIC = "\1"
"""Stands for what only the running shell knows, such as `$HOME`."""

LATER = "\2"
"""Stands for all arguments of a script, of which the first is not a value but a later one is."""

INSTEAD = f'{LIST}; or pass it as `stdin`, or in `env` and write "$NAME"'


class Word(NamedTuple):
    """A word with its quotes removed, and the range of slots inside it, nested ones included."""

    text: str
    first: int = 0
    last: int = 0
    bare: bool = True

    @property
    def holds_value(self) -> bool:
        """Whether a value stands in it."""
        return SLOT in self.text or LATER in self.text


class Refusal(NamedTuple):
    """Why a value cannot stand where it does, and what to write instead; without `lint` it could not be filled in."""

    why: str
    hint: str
    lint: bool = True


class Level(NamedTuple):
    """One program that a command starts, and what its words are to it: `sudo sh -c …` has two.

    `rest` follows its name. `code` it runs, `files` it reads code from, `data` it gets; `reads` says that code comes on
    its standard input.
    An `inner` one is only guessed, from its name among the arguments of another.
    """

    name: str
    head: Word
    rest: Sequence[Word]
    program: Program
    code: Sequence[Word] = ()
    files: Sequence[Word] = ()
    flags: Sequence[Word] = ()
    data: Sequence[Word] = ()
    reads: bool = False
    inner: bool = False


Kind = Literal["code", "takes", "file", "ends", "maybe", "flag", "argument"]
Found = Iterator[tuple[Word, Refusal]]

_ASSIGNING = frozenset(("local", "export", "readonly"))
NAMING = frozenset(("declare", "typeset", "unset", "read", "getopts", "mapfile", "readarray")) | _ASSIGNING
"""Words of the shell whose arguments are names of variables."""

_MOST_LEVELS = 16
"""Commands in one command; each of them is read again."""

_STDIN = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/[^/]+/fd/\d+|/proc/self/task/.*")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_NAMES_VARIABLE = Refusal("would name a variable", "write the name out; only what is assigned can be a value")
_NAMES_PROGRAM = Refusal("would name the program that runs", "write the program out; values can only be its arguments")
_TOO_MANY = Refusal("stands in a command that starts too many others", LIST)
_EXEC = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def refused_words(words: Sequence[Word], levels: Sequence[Level]) -> Found:
    """The words of a command whose values would be run, or would choose what is."""
    for word in words:
        if not ASSIGNMENT.match(word.text):
            break
        yield from refused_assignment(word)
    if len(levels) > _MOST_LEVELS:
        yield from ((word, _TOO_MANY) for word in words)
    for level in levels[:_MOST_LEVELS]:
        yield from _refused_at(level)


def refused_assignment(word: Word) -> Found:
    """The word, if it assigns a value to a variable that decides what runs."""
    found = ASSIGNMENT.match(word.text)
    reason = check_env_value(found[1]) if found and word.holds_value else None
    if reason is not None:
        yield word, Refusal(f"would be assigned, but {reason}", "write that value out")


def read_levels(words: Sequence[Word], fed: bool = False) -> list[Level]:
    """The programs that a command starts; with `fed`, values come on its standard input."""
    start = 0
    while start < len(words) and ASSIGNMENT.match(words[start].text):
        start += 1
    levels: list[Level] = []
    rest = words[start:]
    if not rest:
        return levels
    _follow(rest, levels, fed)
    known = {id(level.head) for level in levels}
    carrier = any(level.name in CARRIERS for level in levels)
    for index, word in enumerate(rest):
        # Programs such as `docker` take a whole command among their arguments, and others may.
        name = program_name(word)
        runs = is_interpreter(name) or (carrier and _takes_code(name))
        if len(levels) <= _MOST_LEVELS and id(word) not in known and runs:
            inner = _level(rest[index:], name)
            levels.append(inner._replace(inner=not carrier, reads=inner.reads and carrier))
    return levels


def runs_script(level: Level) -> tuple[str, Sequence[Word]] | None:
    """The text of a script that this level gives to a shell, and the arguments that the script gets."""
    if level.code and (level.name in SHELLS or level.name in SCRIPTED):
        return " ".join(word.text for word in level.code), level.data[1:] if level.name in SHELLS else ()
    return None


def is_interpreter(name: str) -> bool:
    """Whether a program of that name runs scripts."""
    program = PROGRAMS.get(name)
    return name in SHELLS or (program is not None and program.arguments == "script" and name not in (".", "source"))


def _takes_code(name: str) -> bool:
    program = PROGRAMS.get(name, Program())
    return program.arguments in ("script", "code", "after") or program.stdin != "no"


def sets_integers(words: Sequence[Word]) -> bool:
    """Whether the command makes the shell evaluate whatever is assigned to a variable later on."""
    name = words[0].text if words else ""
    return name == "integer" or (
        name in ("declare", "typeset", "local") and any(re.match("-[A-Za-z]*i", w.text) for w in words[1:])
    )


def program_name(word: Word) -> str:
    """The name of a program without its folder and the number of its version."""
    name = word.text.rpartition("/")[2]
    short = name.rstrip("0123456789.")
    return short if short in PROGRAMS and name not in PROGRAMS else name


def names_stdin(text: str) -> bool:
    """Whether a path is the standard input, or another descriptor that is open already."""
    return _STDIN.fullmatch(text) is not None


def code_refusal(level: Level) -> Refusal:
    """Why no value may be what this program runs."""
    hint = f"{LIST}; or {level.program.instead}" if level.program.instead else LIST
    return Refusal(f"would become code that `{level.name}` runs", hint)


# What each program makes of its words


def _follow(words: Sequence[Word], levels: list[Level], fed: bool) -> None:
    """Add the program at the start of the words, and the one that it starts, if that is what it does."""
    while words and len(levels) <= _MOST_LEVELS:
        name = program_name(words[0])
        level = _level(words, name)
        levels.append(level)
        if name == "find":
            _add_found(words, levels)
        if level.program.arguments == "subcommand" and level.data:
            part = f"{name} {level.data[0].text}"
            if part not in PROGRAMS:
                return
            words = [Word(part), *level.data[1:]]
        elif level.program.arguments == "command" and not (name == "command" and _looks_up(words)):
            own = level.program.own
            levels[-1] = level._replace(data=level.data[:own])
            words = level.data[own:]
            while words and ASSIGNMENT.match(words[0].text):
                levels[-1] = levels[-1]._replace(data=(*levels[-1].data, words[0]))
                words = words[1:]
            if words and words[0].text == "-c":
                words = [Word("sh"), *words]  # `flock FILE -c …`
            if fed and name == "xargs":
                words = _with_input(level.rest[: len(level.rest) - len(words)], words)
        else:
            return


def _level(words: Sequence[Word], name: str) -> Level:
    head, rest = words[0], words[1:]
    if name in SHELLS:
        return _shell_level(name, head, rest)
    program = PROGRAMS.get(name, Program())
    code: list[Word] = []
    files: list[Word] = []
    flags: list[Word] = []
    data: list[Word] = []
    arguments: list[Word] = []
    ended = False
    for kind, word in _read(rest, program):
        ended = ended or kind == "ends"
        target = {"code": code, "file": files, "argument": arguments, "takes": data}.get(kind, flags)
        target.append(word)
    given = bool(code or files) or ended
    reads = any(names_stdin(word.text) for word in files)
    match program.arguments:
        case "script" if not given:
            files += arguments[:1]
            data += arguments[1:]
            reads = names_stdin(arguments[0].text) if arguments else program.stdin != "no"
        case "code" if not given:
            code += arguments[:1]
            data += arguments[1:]
        case "all":
            code += arguments
        case "after":
            data += arguments[: program.own]
            code += arguments[program.own :]
        case "setting" if arguments and not _is_harmless(arguments[0], program):
            code += arguments
        case "command" | "subcommand":
            data = arguments
        case _:
            data += arguments
    if program.arguments != "script" and program.stdin != "no":
        reads = reads or program.stdin == "always" or (not given and len(arguments) <= program.own)
    code = [word for word in code if not _is_harmless(word, program)]
    return Level(name, head, rest, program, code, files, flags, data, reads)


def _shell_level(name: str, head: Word, rest: Sequence[Word]) -> Level:
    letters, ended, arguments = _shell_options(rest)
    flags = rest[: len(rest) - len(arguments)]
    if "c" in letters.lower() or any(word.text.lower() in ("-command", "-encodedcommand") for word in flags):
        return Level(name, head, rest, SHELL, arguments[:1], (), flags, arguments[1:])
    if "s" in letters:
        # Without `--`, the first argument could be one more option.
        first = 0 if ended else 1
        return Level(name, head, rest, SHELL, (), arguments[:first], flags, arguments[first:], reads=True)
    reads = not arguments or names_stdin(arguments[0].text)
    return Level(name, head, rest, SHELL, (), arguments[:1], flags, arguments[1:], reads)


def _shell_options(rest: Sequence[Word]) -> tuple[str, bool, Sequence[Word]]:
    """The letters of a shell's options, whether something ended them, and the arguments after them."""
    letters = ""
    position = 0
    while position < len(rest) and rest[position].text[:1] in ("-", "+") and len(rest[position].text) > 1:
        text = rest[position].text
        position += 1
        if text == "--":
            return letters, True, rest[position:]
        if text.startswith("--"):
            position += text in ("--rcfile", "--init-file")
            letters += "c" if text in ("--command", "--commands") else ""
        else:
            letters += text[1:]
            position += text.count("o") + text.count("O") if text[1:2].islower() or len(text) == 2 else 0
    if position < len(rest) and rest[position].text == "-":
        return letters, True, rest[position + 1 :]
    return letters, False, rest[position:]


def _read(rest: Sequence[Word], program: Program) -> Iterator[tuple[Kind, Word]]:
    """What each word is to the program."""
    waiting: list[Kind] = []
    ended = False
    for word in rest:
        text = word.text
        if waiting and not (waiting[0] == "maybe" and text.startswith("-")):
            kind = waiting.pop(0)
            yield ("code" if kind == "maybe" else kind), word
            continue
        waiting = []
        if not text and not ended:
            yield "flag", word  # the value of `-i` in `sed -i '' …`
            continue
        if ended or not _is_option(text, program):
            ended = ended or not program.anywhere
            yield "argument", word
            continue
        if text == "--":
            ended = True
            yield "flag", word
            continue
        kind, attached, count = _option(text, program)
        yield (kind if attached else "ends" if kind == "ends" else "flag"), word
        if kind == "ends":
            ended = True
        elif kind != "flag" and not attached:
            waiting = [kind] * count


def _is_option(text: str, program: Program) -> bool:
    return (text.startswith("-") and text != "-") or (text.startswith("+") and "+" in program.long)


def _option(text: str, program: Program) -> tuple[Kind, bool, int]:
    """What an option holds, whether it holds it in the same word, and else in how many of the next."""
    name, equals, _ = text.partition("=")
    if name in program.pairs:
        return "takes", False, 2
    groups: tuple[tuple[Kind, tuple[str, ...]], ...] = (
        ("code", program.long), ("file", program.long_file), ("takes", program.long_takes),
    )  # fmt: skip
    for kind, names in groups:
        if _is_one_of(name, names):
            return kind, bool(equals), 1
    if text.startswith("+"):
        return "code", True, 1
    return ("flag", False, 1) if text.startswith("--") else _letters(text, program)


def _is_one_of(name: str, names: Sequence[str]) -> bool:
    """Whether an option is one of those, or short for one, as GNU programs let their options be."""
    return name in names or (len(name) > 3 and name.startswith("--") and any(each.startswith(name) for each in names))


def _letters(text: str, program: Program) -> tuple[Kind, bool, int]:
    """What a cluster of one-letter options holds."""
    meanings: tuple[tuple[Kind, str], ...] = (
        ("code", program.code), ("takes", program.takes), ("file", program.file), ("ends", program.ends),
    )  # fmt: skip
    maybe = False
    for position, letter in enumerate(text[1:], 2):
        for kind, letters in meanings:
            if letter in letters:
                return kind, position < len(text), 1
        maybe = maybe or letter in program.maybe
        if not letter.isalnum():
            break
    return ("maybe" if maybe else "flag"), False, 1


def _is_harmless(word: Word, program: Program) -> bool:
    text = word.text.lower().removeprefix("-o").removeprefix("-c").strip()
    return bool(program.harmless) and text.startswith(program.harmless)


def _looks_up(words: Sequence[Word]) -> bool:
    return len(words) > 1 and words[1].text in ("-v", "-V")


def _with_input(options: Sequence[Word], words: Sequence[Word]) -> Sequence[Word]:
    """The command of `xargs` with a value where its input goes."""
    texts = [word.text for word in options]
    replaced = next((text for text in texts if text.startswith(("-I", "-i", "--replace"))), None)
    if replaced is None:
        return [*words, Word(SLOT)]
    mark = replaced.partition("=")[2] if replaced.startswith("--") else replaced[2:]
    if replaced == "-I":
        mark = texts[texts.index(replaced) + 1] if texts.index(replaced) + 1 < len(texts) else ""
    return [Word(word.text.replace(mark or "{}", SLOT), word.first, word.last, word.bare) for word in words]


def _add_found(words: Sequence[Word], levels: list[Level]) -> None:
    """The commands of `find -exec`, with a value for `{}` where the value decides what is found."""
    hidden = any(word.holds_value for word in words)
    for index, word in enumerate(words):
        if len(levels) > _MOST_LEVELS:
            return
        if word.text in _EXEC:
            inner = [
                Word(each.text.replace("{}", SLOT), each.first, each.last) if hidden and "{}" in each.text else each
                for each in words[index + 1 :]
            ]
            end = next((at for at, each in enumerate(inner) if each.text in (";", "+")), len(inner))
            _follow(inner[:end], levels, fed=False)


# What may not hold a value


def _refused_at(level: Level) -> Found:
    arguments = level.program.arguments
    if SLOT in level.head.text:
        head, equals, _ = level.head.text.partition("=")
        yield level.head, _NAMES_VARIABLE if SLOT in head and equals else _NAMES_PROGRAM
    run = [*level.code, *(() if level.inner else level.files)]
    if arguments in ("script", "code"):
        run += level.flags
    yield from ((word, code_refusal(level)) for word in run if word.holds_value)
    if arguments == "command":
        for word in level.data:
            yield from refused_assignment(word)
    if arguments == "subcommand" and level.data and SLOT in level.data[0].text:
        yield level.data[0], _NAMES_PROGRAM
    yield from _named(level.name, level.rest)


def _named(name: str, rest: Sequence[Word]) -> Found:
    """The words that the shell itself would take as names of variables."""
    if name in ("[", "test"):
        # bash runs the subscript of `[ -v 'a[$(…)]' ]`, and a value can be that `-v`.
        for before, word in pairwise(rest):
            if before.text in ("-v", "-R", SLOT) and word.holds_value:
                yield word, _NAMES_VARIABLE
    elif name == "printf" and rest and (rest[0].text == "-v" or rest[0].text.startswith(SLOT)):
        yield from ((word, _NAMES_VARIABLE) for word in rest[1:2] if word.holds_value)  # bash: `printf -v 'a[$(…)]'`
    elif name in NAMING:
        for word in rest:
            if name in _ASSIGNING and ASSIGNMENT.match(word.text):
                yield from refused_assignment(word)
            elif word.holds_value:
                yield word, _NAMES_VARIABLE
