"""Which words of a simple shell command would be run as code: a table of programs that knows no shell syntax.

It covers programs that take code as an argument. What a program makes of an ordinary argument that begins with
`-` is between the author and that program, as in any script: `--` before the value ends the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from pflow.core.template.env_name import check_env_name

SLOT = "\0"
"""Stands for a template in the text of a word, as no shell text can hold a NUL."""

DYNAMIC = "\1"
"""Stands for what only the running shell knows, such as `$HOME`."""

INSTEAD = 'pass it in `env` and write "$NAME" there, or pass it as `stdin`'


class Word(NamedTuple):
    """A word with its quotes removed, and the range of slots inside it, nested ones included."""

    text: str
    first: int = 0
    last: int = 0
    bare: bool = True


class Refusal(NamedTuple):
    """Why a template cannot stand where it does, and what to write instead."""

    why: str
    hint: str


class _Runner(NamedTuple):
    """How a program takes code: the letters of options that hold it, hold something else, or name its file.

    After one of `ends` everything is an argument. With `program`, the first argument is code unless an option
    held it; with `anywhere`, options may follow arguments.
    """

    code: str = ""
    takes: str = ""
    file: str = ""
    ends: str = ""
    long: tuple[str, ...] = ()
    program: bool = False
    anywhere: bool = False


Kind = Literal["code", "takes", "file", "ends", "flag", "argument"]
Found = Iterator[tuple[Word, Refusal]]

_SHELLS = frozenset(["sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish"])
_AWK = _Runner(code="e", takes="Fv", file="f", long=("--source",), program=True)
_SED = _Runner(code="e", takes="l", file="f", long=("--expression",), program=True)
_LUA = _Runner(code="e", takes="l")
_NODE = _Runner(code="ep", takes="r", long=("--eval", "--print"))
_COMMAND = _Runner(code="c", long=("--command", "--session-command"), anywhere=True)
_RUNNERS = {
    "python": _Runner(code="c", takes="WX", ends="m"),
    "pypy": _Runner(code="c", takes="WX", ends="m"),
    "perl": _Runner(code="eE", takes="I"),
    "ruby": _Runner(code="e", takes="rI"),
    "php": _Runner(code="rBRE", takes="dcz", file="fF"),
    **dict.fromkeys(("node", "nodejs", "bun"), _NODE),
    **dict.fromkeys(("lua", "luajit", "Rscript", "osascript"), _LUA),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("su", "runuser", "script", "flock"), _COMMAND),
}
_FROM_STDIN = frozenset(["python", "pypy", "perl", "ruby", "php", "node", "nodejs", "bun", "lua", "luajit"])
_WRAPPERS = {
    **dict.fromkeys(("builtin", "command", "nohup", "setsid", "time"), ("", 0)),
    **{"env": ("uCS", 0), "exec": ("a", 0), "nice": ("n", 0), "ionice": ("cnp", 0), "stdbuf": ("ioe", 0)},
    **{"sudo": ("ugpCDhrtTU", 0), "doas": ("uC", 0), "xargs": ("IiLnPsdEa", 0)},
    **{"timeout": ("ks", 1), "chroot": ("", 1)},
}
"""Programs that run another: their options that take a value, and their own arguments before that command."""

_ALL_CODE = frozenset(("eval", ".", "source", "trap", "alias", "let", "watch", "parallel"))
_ASSIGNING = frozenset(("local", "export", "readonly"))
_NAMING = frozenset(("declare", "typeset", "unset", "read", "getopts", "mapfile", "readarray")) | _ASSIGNING
_MOST_INNER = 16
"""Commands among the arguments of one command; each of them is read again."""

_SSH_TAKES = "BbcDEeFIiJLlmOopQRSWw"

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_NAMES_VARIABLE = Refusal("would name a variable", "write the name out; only what is assigned can be a value")


def refused_words(words: Sequence[Word]) -> Found:
    """The words of a command whose templates would be run, or would choose what is."""
    start = _command_at(words)
    for word in words[:start]:
        yield from _assigned(word)
    if start == len(words):
        return
    head, equals, _ = words[start].text.partition("=")
    if SLOT in head and equals:
        yield words[start], _NAMES_VARIABLE
    yield from _of_command(_program(words[start]), words[start + 1 :])
    # Programs such as `find` and `docker` take a whole command among their arguments.
    inner = [i for i in range(start + 1, len(words)) if _program(words[i]) in _SHELLS | _FROM_STDIN]
    if len(inner) > _MOST_INNER:
        yield from ((word, Refusal("stands in a command that starts too many others", INSTEAD)) for word in words)
        return
    for index in inner:
        name, rest = _program(words[index]), words[index + 1 :]
        yield from _of_shell(name, rest) if name in _SHELLS else _of_runner(name, _RUNNERS[name], rest, inner=True)


def reads_code(words: Sequence[Word]) -> bool:
    """Whether the command runs what comes on its standard input."""
    start = _command_at(words)
    if start == len(words):
        return False
    name, rest = _program(words[start]), words[start + 1 :]
    if name in _SHELLS:
        letters, _, arguments = _shell_options(rest)
        return "c" not in letters and ("s" in letters or not arguments or arguments[0].text == "/dev/stdin")
    if name not in _FROM_STDIN:
        return False
    for kind, word, _ in _read(rest, _RUNNERS[name]):
        if kind not in ("flag", "takes"):
            return word.text == "-"
    return True


def sets_integers(words: Sequence[Word]) -> bool:
    """Whether the command makes the shell evaluate whatever is assigned to a variable later on."""
    name = words[0].text if words else ""
    return name == "integer" or (
        name in ("declare", "typeset", "local") and any(re.match("-[A-Za-z]*i", w.text) for w in words[1:])
    )


def _command_at(words: Sequence[Word]) -> int:
    """Where the program stands, after assignments and after programs that merely run it."""
    position = 0
    while position < len(words):
        if _ASSIGNMENT.match(words[position].text):
            position += 1
        elif (wrapper := _WRAPPERS.get(_program(words[position]))) is not None:
            takes, arguments = wrapper
            position = min(_after_options(words, position + 1, takes) + arguments, len(words))
        else:
            break
    return min(position, len(words))


def _program(word: Word) -> str:
    name = word.text.rpartition("/")[2]
    return name.rstrip("0123456789.") if name.startswith(("python", "pypy")) else name


def _code_of(name: str) -> Refusal:
    return Refusal(f"would become code that `{name}` runs", INSTEAD)


def _assigned(word: Word) -> Found:
    found = _ASSIGNMENT.match(word.text)
    reason = check_env_name(found[1]) if found else None
    if reason is not None:
        yield word, Refusal(f"would be assigned, but {reason}", "write that value out")


def _of_command(name: str, rest: Sequence[Word]) -> Found:
    if name in _ALL_CODE:
        yield from ((word, _code_of(name)) for word in rest)
    elif name == "ssh":
        host = _after_options(rest, 0, _SSH_TAKES)
        yield from ((word, _code_of(name)) for word in rest[host + 1 :])
    elif name in ("[", "test"):
        # bash runs the subscript of `[ -v 'a[$(…)]' ]`, and a value can be that `-v`.
        for before, word in pairwise(rest):
            if before.text in ("-v", "-R", SLOT):
                yield word, _NAMES_VARIABLE
    elif name == "printf" and rest and (rest[0].text == "-v" or rest[0].text.startswith(SLOT)):
        yield from ((word, _NAMES_VARIABLE) for word in rest[1:2])  # bash: `printf -v 'a[$(…)]'`
    if name in _NAMING:
        for word in rest:
            assigns = name in _ASSIGNING and _ASSIGNMENT.match(word.text)
            yield from _assigned(word) if assigns else [(word, _NAMES_VARIABLE)]
    if name in _SHELLS:
        yield from _of_shell(name, rest)
    elif name in _RUNNERS:
        yield from _of_runner(name, _RUNNERS[name], rest)


def _of_shell(name: str, rest: Sequence[Word]) -> Found:
    letters, ended, arguments = _shell_options(rest)
    options = rest[: len(rest) - len(arguments)]
    yield from ((word, _code_of(name)) for word in options)
    if "c" in letters:
        yield from ((word, _code_of(name)) for word in arguments[:1])
    elif arguments and arguments[0].text.startswith(SLOT) and not ("s" in letters and ended):
        yield arguments[0], _code_of(name)


def _shell_options(rest: Sequence[Word]) -> tuple[str, bool, Sequence[Word]]:
    """The letters of a shell's options, whether `--` ended them, and the arguments after them."""
    letters = ""
    position = 0
    while position < len(rest) and rest[position].text[:1] in ("-", "+") and len(rest[position].text) > 1:
        text = rest[position].text
        position += 1
        if text == "--":
            return letters, True, rest[position:]
        if text.startswith("--"):
            position += text in ("--rcfile", "--init-file")
        else:
            letters += text[1:]
            position += text.count("o") + text.count("O")
    if position < len(rest) and rest[position].text == "-":
        return letters, True, rest[position + 1 :]
    return letters, False, rest[position:]


def _of_runner(name: str, runner: _Runner, rest: Sequence[Word], *, inner: bool = False) -> Found:
    has_code = False
    for kind, word, option in _read(rest, runner):
        if kind in ("code", "file"):
            has_code = True
            yield word, _code_of(name)
        elif kind == "flag" and SLOT in word.text:
            yield word, _code_of(name)
        elif kind == "argument" and not runner.anywhere:
            if not inner and not has_code and (runner.program or word.text.startswith(SLOT)):
                yield word, _code_of(name)
            return
        if kind == "ends" or (kind == "code" and runner.ends and option):
            return


def _read(rest: Sequence[Word], runner: _Runner) -> Iterator[tuple[Kind, Word, bool]]:
    """What each word is to the program, and whether it belongs to an option."""
    waiting: Kind | None = None
    for word in rest:
        if waiting is not None:
            yield waiting, word, True
            waiting = None
            continue
        text = word.text
        if runner.long and text.startswith(runner.long):
            if "=" in text:
                yield "code", word, True
            else:
                waiting = "code"
        elif text.startswith("-") and not text.startswith("--") and len(text) > 1:
            kind, attached = _option(text, runner)
            if kind == "flag" or attached:
                yield kind, word, True
            else:
                waiting = kind
        elif text.startswith("--") or not text:
            yield "flag", word, True
        else:
            yield "argument", word, False


def _option(text: str, runner: _Runner) -> tuple[Kind, bool]:
    """What a cluster of one-letter options holds, and whether it holds it in the same word."""
    meanings: dict[Kind, str] = {"code": runner.code, "takes": runner.takes, "file": runner.file, "ends": runner.ends}
    for position, letter in enumerate(text[1:], 2):
        for kind, letters in meanings.items():
            if letter in letters:
                return kind, position < len(text)
        if not letter.isalnum():
            break
    return "flag", False


def _after_options(words: Sequence[Word], position: int, takes: str) -> int:
    """Where the options end that start at a position; those in `takes` are followed by a value."""
    while position < len(words) and (text := words[position].text).startswith("-"):
        position += 2 if len(text) == 2 and text[1] in takes else 1
    return position
