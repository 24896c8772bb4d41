"""Templates in a shell command: each value reaches the command as an environment variable, never as text.

What the author wrote as `${name}` becomes a reference to that variable, quoted for the place it stands in. A
place where the shell, or a program it starts, would evaluate the value is a problem that says what to write.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pflow.core.template.argument_list import LONGEST_BYTES, argument_text
from pflow.core.template.compiled import Compiled, Given, Lookup, Problem, Reference, refuse

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
        env = {name: argument_text(reference, lookup(reference)) for name, reference in self._variables.items()}
        values = {reference.text: env[name] for name, reference in self._variables.items()}
        return ShellCommand(self._text, env, self._written, values)


def compile_shell(parts: Sequence[str | Reference], given: Given) -> tuple[Compiled, list[Problem]]:
    """A command with its templates as quoted variables; it renders to a `ShellCommand`, or to text without any."""
    references = [part for part in parts if isinstance(part, Reference)]
    literal = "".join(part for part in parts if isinstance(part, str))
    if "\0" in literal:
        return refuse(references, [Problem("the command holds a NUL character", "take it out")])
    if len(literal) > LONGEST_BYTES:
        return refuse(references, [_too_long(len(literal))])
    if not references and not any(given):
        return Compiled(literal), []
    from pflow.core.template.shell_lint import lint_line  # lazy: it costs 5 ms, and most commands hold no values

    slots, problems = lint_line(parts, references, given)
    if any(not problem.newer for problem in problems):
        return refuse(references, problems)
    if not references:
        return Compiled(literal), problems
    names: dict[str, str] = {}
    variables: dict[str, Reference] = {}
    texts: list[str] = []
    remaining = iter(slots)
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        slot = next(remaining)
        if slot.quotes == "comment":
            texts.append(part.text.replace("\n", " "))
            continue
        name = names.setdefault(part.text, f"PFLOW_{len(names) + 1}")
        variables.setdefault(name, part)
        texts.append(_FORMS[slot.quotes] % name)
    text = "".join(texts)
    if len(text) > LONGEST_BYTES:
        return refuse(references, [_too_long(len(text))])
    written = "".join(part if isinstance(part, str) else part.text for part in parts)
    return (_Shell(text, variables, written) if variables else Compiled(text)), problems


def _too_long(size: int) -> Problem:
    return Problem(
        f"the command has {size:,} characters; a shell takes up to {LONGEST_BYTES:,}",
        "put the script in a file of its own",
    )
