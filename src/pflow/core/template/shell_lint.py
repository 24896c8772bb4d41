"""The lint of commands: where values stand in a command line or a list of arguments, and what would run them.

It refuses what it knows. A value never becomes text that the shell parses, whatever this finds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pflow.core.printable import shorten
from pflow.core.template.compiled import Given, Problem, Reference
from pflow.core.template.shell_code import INSTEAD, SLOT, Refusal, Word
from pflow.core.template.shell_flow import Flow, Slot
from pflow.core.template.shell_lexer import check_words, read_script
from pflow.core.template.shell_program import LIST
from pflow.core.template.shell_word import Unclear

_AS_ARGUMENT = "write it out; values can only be arguments"


def lint_line(
    parts: Sequence[str | Reference], references: Sequence[Reference], given: Given
) -> tuple[list[Slot], list[Problem]]:
    """Where each template stands in a command line, and the problems with where values would go."""
    text = "".join(part if isinstance(part, str) else SLOT for part in parts)
    flow = Flow(given)
    try:
        found = read_script(text, flow)
        templates = [slot for slot in found if not slot.variable]
        if len(templates) != len(references):
            raise Unclear("the command has a form that is not understood")
    except Unclear as unclear:
        return [], list(_unclear(unclear, text, references, flow))
    return templates, list(_problems(found, references, flow))


def lint_arguments(items: Sequence[Sequence[str | Reference]], given: Given) -> list[Problem]:
    """The problems with where templates stand in a list of arguments, and with what a script in it does."""
    words: list[Word] = []
    places: list[tuple[int, Reference]] = []
    for index, item in enumerate(items):
        first = len(places)
        places.extend((index, part) for part in item if isinstance(part, Reference))
        text = "".join(part if isinstance(part, str) else SLOT for part in item)
        words.append(Word(text, first, len(places), bare=False))
    flow = Flow(given)
    problems: list[Problem] = []
    for number, slot in enumerate(check_words(words, len(places), flow)):
        if slot.refusal is not None:
            place = places[number] if number < len(places) else None
            problem = _problem(slot, slot.refusal, place[1] if place else None, flow)
            hint = problem.hint.removeprefix(LIST).removeprefix("; or ") or _AS_ARGUMENT
            problems.append(problem._replace(hint=hint, path=place[:1] if place else ()))
    return problems


def _problems(slots: Sequence[Slot], references: Sequence[Reference], flow: Flow) -> Iterator[Problem]:
    remaining = iter(references)
    told: set[tuple[str, Refusal]] = set()
    for slot in slots:
        reference = None if slot.variable else next(remaining)
        if slot.refusal is not None and (slot.variable, slot.refusal) not in told:
            yield _problem(slot, slot.refusal, reference, flow)
            if slot.variable:
                told.add((slot.variable, slot.refusal))


def _problem(slot: Slot, refusal: Refusal, reference: Reference | None, flow: Flow) -> Problem:
    if reference is not None:
        message = f"`{shorten(reference.text)}` {refusal.why}"
        return Problem(message, refusal.hint, (), reference.offset, newer=refusal.lint)
    holds = f"which holds {flow.origin(slot.variable)},"
    if slot.variable == "stdin":
        hint = refusal.hint.removeprefix(f"{LIST}; or ")
        return Problem(f"the standard input, {holds} {refusal.why}", hint, newer=True)
    name = slot.variable[1:] if slot.variable.startswith("<") else f"${slot.variable}"
    return Problem(f"`{name}`, {holds} {refusal.why}", refusal.hint, newer=True)


def _unclear(unclear: Unclear, text: str, references: Sequence[Reference], flow: Flow) -> Iterator[Problem]:
    if references:
        at = references[min(unclear.passed, len(references) - 1)]
        message = f"cannot tell how the shell would read `{shorten(at.text)}`: {unclear}"
        yield Problem(message, INSTEAD, (), at.offset)
        return
    name = next((name for name in flow.given.variables if name in text), "")
    if name:
        message = f"cannot tell how the shell would read `${name}`, which holds {flow.origin(name)}: {unclear}"
        yield Problem(message, INSTEAD, newer=True)
