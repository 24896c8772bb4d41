"""Whether a shell command only reads, and its words if no shell is needed for it. What is not known has effects."""

from __future__ import annotations

import re
import shlex

from pflow.core.template.shell_program import COUNTING, SPEAKING

_READERS = frozenset((
    *("cat", "head", "tail", "tac", "ls", "grep", "egrep", "rg", "cut", "sort", "uniq", "tr", "jq", "pwd", "tree"),
    *("du", "df", "which", "file", "diff", "cmp", "basename", "dirname", "realpath", "test", "true", "nl", "strings"),
    *COUNTING,
    *SPEAKING,
))  # fmt: skip
_GIT = frozenset(
    [
        "log",
        "show",
        "diff",
        "status",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "blame",
        "describe",
        "shortlog",
        "cat-file",
        "grep",
    ]
)
_GH = frozenset(["view", "list", "status", "diff", "checks"])
_OPERATORS = frozenset(("|", "&&", "||", ";"))
_HARMLESS = re.compile(r"\s*\d?>\s*/dev/null|\s*2>&1")
_PLAIN = r"[\w./:=@%+,^-]+|'[^']*'|\"[^\"$`\\]*\""
_SIMPLE = re.compile(rf"\s*(?:{_PLAIN})(?:[ \t]+(?:{_PLAIN}))*\s*")
_CHANGING = re.compile(r"cd\s+([\w./@+-]+|'[^']*')\s*&&\s*(?=\S)")


def split_directory(command: str) -> tuple[str, str]:
    """The directory that a command changes to before anything else, if it does, and the rest of it."""
    found = _CHANGING.match(command)
    return (found[1].strip("'"), command[found.end() :]) if found else ("", command)


def words_of(command: str) -> list[str] | None:
    """The words of a command that needs no shell; None for any other."""
    if not _SIMPLE.fullmatch(command):
        return None
    words = shlex.split(command)
    return None if "=" in words[0] else words


def only_reads(command: str) -> bool:
    """Whether every program in a command is known to change nothing."""
    text = _HARMLESS.sub("", command)
    if any(sign in text for sign in (">", "$(", "`", "<(", "\n")):
        return False
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return False
    program: list[str] = []
    programs = [program]
    for token in tokens:
        if token in _OPERATORS:
            program = []
            programs.append(program)
        else:
            program.append(token)
    return all(_reads(words) for words in programs if words)


def _reads(words: list[str]) -> bool:
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "git":
        return bool(rest) and rest[0] in _GIT
    if name == "gh":
        return len(rest) > 1 and rest[1] in _GH
    if name == "find":
        return not any(word.startswith(("-exec", "-ok", "-delete", "-fprint", "-fls")) for word in rest)
    return name in _READERS and not (name == "sort" and "-o" in rest)
