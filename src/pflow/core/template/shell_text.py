"""Templates in a shell command: each value reaches the command as an environment variable, never as text.

What the author wrote as `${name}` becomes a reference to that variable, quoted for the place it stands in. A
place where the shell, or a program it starts, would evaluate the value is a problem that says what to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pflow.core.template.argument_list import LONGEST_BYTES, argument_text
from pflow.core.template.compiled import Compiled, Given, Lookup, Problem, Reference, refuse

if TYPE_CHECKING:
    from pflow.core.template.shell_flow import Flow, Slot

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
    slots, problems = _place_slots(parts, references, given)
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


def _place_slots(
    parts: Sequence[str | Reference], references: Sequence[Reference], given: Given
) -> tuple[list[Slot], list[Problem]]:
    """Where each template stands, and the problems with where values would go."""
    from pflow.core.template.shell_code import INSTEAD, SLOT  # lazy: they cost 5 ms, and most commands have no values
    from pflow.core.template.shell_flow import Flow  # lazy: the same
    from pflow.core.template.shell_lexer import read_script  # lazy: the same
    from pflow.core.template.shell_word import Unclear  # lazy: the same

    text = "".join(part if isinstance(part, str) else SLOT for part in parts)
    flow = Flow(given)
    try:
        found = read_script(text, flow)
        templates = [slot for slot in found if not slot.variable]
        if len(templates) != len(references):
            raise Unclear("the command has a form that is not understood")
    except Unclear as unclear:
        if references:
            at = references[min(unclear.passed, len(references) - 1)]
            message = f"cannot tell how the shell would read `{_shorten(at.text)}`: {unclear}"
            return [], [Problem(message, INSTEAD, (), at.offset)]
        named = next((name for name in given.variables if name in text), "")
        message = f"cannot tell how the shell would read `${named}`, which holds {flow.origin(named)}: {unclear}"
        return [], [Problem(message, INSTEAD, newer=True)] if named else []
    return templates, list(_problems(found, references, flow))


def _problems(slots: Sequence[Slot], references: Sequence[Reference], flow: Flow) -> Iterator[Problem]:
    remaining = iter(references)
    told: set[tuple[str, object]] = set()
    for slot in slots:
        reference = None if slot.variable else next(remaining)
        if slot.refusal is None or (slot.variable, slot.refusal) in told:
            continue
        refusal = slot.refusal
        if reference is not None:
            message = f"`{_shorten(reference.text)}` {refusal.why}"
            yield Problem(message, refusal.hint, (), reference.offset, newer=refusal.lint)
            continue
        told.add((slot.variable, refusal))
        name = "the standard input" if slot.variable == "stdin" else f"`${slot.variable}`"
        yield Problem(f"{name}, which holds {flow.origin(slot.variable)}, {refusal.why}", refusal.hint, newer=True)


def _shorten(text: str) -> str:
    from pflow.core.printable import shorten  # lazy: only problems show text

    return shorten(text)


def _too_long(size: int) -> Problem:
    return Problem(
        f"the command has {size:,} characters; a shell takes up to {LONGEST_BYTES:,}",
        "put the script in a file of its own",
    )
