"""Checks a command that is a list of arguments: no value may be what its program runs."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.printable import shorten
from pflow.core.template.compiled import Given, Problem, Reference
from pflow.core.template.shell_code import SLOT, Word
from pflow.core.template.shell_flow import Flow
from pflow.core.template.shell_lexer import check_words
from pflow.core.template.shell_program import LIST

_INSTEAD = "write it out; values can only be arguments"


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
    slots = check_words(words, len(places), flow)
    problems: list[Problem] = []
    for number, slot in enumerate(slots):
        if slot.refusal is None:
            continue
        hint = slot.refusal.hint.removeprefix(LIST).removeprefix("; or ") or _INSTEAD
        if number < len(places):
            index, reference = places[number]
            message = f"`{shorten(reference.text)}` {slot.refusal.why}"
            problems.append(Problem(message, hint, (index,), reference.offset, newer=True))
        else:
            name = "the standard input" if slot.variable == "stdin" else f"`${slot.variable}`"
            message = f"{name}, which holds {flow.origin(slot.variable)}, {slot.refusal.why}"
            problems.append(Problem(message, hint, newer=True))
    return problems
