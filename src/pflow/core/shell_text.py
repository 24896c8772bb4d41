"""Templates in a shell command: each value reaches the command as an environment variable, never as text.

What the author wrote as `${name}` becomes a reference to that variable, quoted for the place it stands in. A
place where the shell, or a program it starts, would evaluate the value is a problem that says what to write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pflow.core.env_name import RESERVED_ENV, check_env_name
from pflow.core.errors import StepError
from pflow.core.render import shorten
from pflow.core.shell_code import INSTEAD, SLOT, Refusal
from pflow.core.shell_lexer import read_shell
from pflow.core.shell_word import Unclear
from pflow.core.template import Compiled, Lookup, Problem, Reference, Refused, as_text

__all__ = ["RESERVED_ENV", "ShellCommand", "check_env_name", "compile_shell"]

_LONGEST = 120_000
"""Linux takes 131,072 bytes for one argument, or for one variable with its name."""

_FORMS = {"none": '"${%s}"', "double": "${%s}", "single": "'\"${%s}\"'"}


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command for the shell, and the variables that its text refers to.

    `written` is the author's own text, and `values` what its templates stand for: what people are shown.
    """

    text: str
    env: dict[str, str]
    written: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


class _Shell(Compiled):
    __slots__ = ("_text", "_variables", "_written")

    def __init__(self, text: str, variables: Mapping[str, Reference], written: str) -> None:
        super().__init__(None)
        self.references = tuple(variables.values())
        self._text = text
        self._variables = variables
        self._written = written

    def render(self, lookup: Lookup) -> object:
        env = {name: _variable(reference, lookup(reference)) for name, reference in self._variables.items()}
        values = {reference.text: env[name] for name, reference in self._variables.items()}
        return ShellCommand(self._text, env, self._written, values)


def compile_shell(parts: Sequence[str | Reference]) -> tuple[Compiled, list[Problem]]:
    """A command with its templates as quoted variables; it renders to a `ShellCommand`, or to text without any."""
    references = [part for part in parts if isinstance(part, Reference)]
    literal = "".join(part for part in parts if isinstance(part, str))
    if SLOT in literal:
        return _refuse(references, [Problem("the command holds a NUL character", "take it out")])
    if len(literal) > _LONGEST:
        return _refuse(references, [_too_long(len(literal))])
    if not references:
        return Compiled(literal), []
    try:
        slots = read_shell("".join(part if isinstance(part, str) else SLOT for part in parts))
    except Unclear as unclear:
        first = references[unclear.slot]
        message = f"cannot tell how the shell would read `{shorten(first.text)}`: {unclear}"
        return _refuse(references, [Problem(message, INSTEAD, (), first.offset)])
    problems = [
        Problem(f"`{shorten(reference.text)}` {slot.why}", slot.hint, (), reference.offset)
        for reference, slot in zip(references, slots, strict=True)
        if isinstance(slot, Refusal)
    ]
    if problems:
        return _refuse(references, problems)
    names: dict[str, str] = {}
    variables: dict[str, Reference] = {}
    texts: list[str] = []
    remaining = iter(slots)
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        slot = next(remaining)
        if slot == "comment":
            texts.append(part.text.replace("\n", " "))
            continue
        name = names.setdefault(part.text, f"PFLOW_{len(names) + 1}")
        variables.setdefault(name, part)
        texts.append(_FORMS[str(slot)] % name)
    text = "".join(texts)
    if len(text) > _LONGEST:
        return _refuse(references, [_too_long(len(text))])
    written = "".join(part if isinstance(part, str) else part.text for part in parts)
    return (_Shell(text, variables, written) if variables else Compiled(text)), []


def _refuse(references: Sequence[Reference], problems: list[Problem]) -> tuple[Compiled, list[Problem]]:
    return Refused(references, problems[0]), problems


def _too_long(size: int) -> Problem:
    return Problem(
        f"the command has {size:,} characters; a shell takes up to {_LONGEST:,}", "put the script in a file of its own"
    )


def _variable(reference: Reference, value: object) -> str:
    text = as_text(value)
    shown = shorten(reference.text)
    if "\0" in text:
        raise StepError(
            f"the value of `{shown}` holds a NUL character, which no command line can carry",
            suggestions=["pass it as `stdin`"],
        )
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise StepError(f"the value of `{shown}` is not valid Unicode") from error
    if size > _LONGEST:
        raise StepError(
            f"the value of `{shown}` has {size:,} bytes; a command takes up to {_LONGEST:,} in one value",
            suggestions=["pass it as `stdin`"],
        )
    return text
