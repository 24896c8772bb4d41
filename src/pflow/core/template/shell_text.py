"""Templates in a shell command: each value reaches the command as an environment variable, never as text.

What the author wrote as `${name}` becomes a reference to that variable, quoted for the place it stands in. A
place where the shell, or a program it starts, would evaluate the value is a problem that says what to write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pflow.core.errors import StepError
from pflow.core.template.compiled import Compiled, Lookup, Problem, Reference, Refused, as_text

_LONGEST_BYTES = 120_000
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
        super().__init__(references=variables.values())
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
    if "\0" in literal:
        return _refuse(references, [Problem("the command holds a NUL character", "take it out")])
    if len(literal) > _LONGEST_BYTES:
        return _refuse(references, [_too_long(len(literal))])
    if not references:
        return Compiled(literal), []
    from pflow.core.template.shell_lexer import place_slots  # lazy: it costs 5 ms, and most commands have no templates

    slots, problems = place_slots(parts, references)
    if any(not problem.newer for problem in problems):
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
        texts.append(_FORMS[slot] % name)
    text = "".join(texts)
    if len(text) > _LONGEST_BYTES:
        return _refuse(references, [_too_long(len(text))])
    written = "".join(part if isinstance(part, str) else part.text for part in parts)
    return (_Shell(text, variables, written) if variables else Compiled(text)), problems


def _refuse(references: Sequence[Reference], problems: list[Problem]) -> tuple[Compiled, list[Problem]]:
    return Refused(references, problems[0]), problems


def _too_long(size: int) -> Problem:
    return Problem(
        f"the command has {size:,} characters; a shell takes up to {_LONGEST_BYTES:,}",
        "put the script in a file of its own",
    )


def _variable(reference: Reference, value: object) -> str:
    text = as_text(value)
    if "\0" in text:
        raise _unfit(reference, "holds a NUL character, which no command line can carry")
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise _unfit(reference, "is not valid Unicode", "clean it in a `code` step") from error
    if size > _LONGEST_BYTES:
        raise _unfit(reference, f"has {size:,} bytes; a command takes up to {_LONGEST_BYTES:,} in one value")
    return text


def _unfit(reference: Reference, why: str, instead: str = "pass it as `stdin`") -> StepError:
    from pflow.core.printable import shorten  # lazy: only failures show text

    return StepError(f"the value of `{shorten(reference.text)}` {why}", suggestions=[instead])
