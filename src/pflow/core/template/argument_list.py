"""A command as a list of arguments: templates are filled in inside each of them, and no shell reads the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pflow.core.errors import StepError
from pflow.core.json_type import describe
from pflow.core.template.compiled import Compiled, Given, Lookup, Problem, Reference, as_text, refuse

LONGEST_BYTES = 120_000
"""Linux takes 131,072 bytes for one argument, or for one variable with its name."""


class ArgumentList(list[str]):
    """A program and its arguments; `written` is what the author wrote, and `values` what its templates stand for."""

    def __init__(self, arguments: Sequence[str], written: Sequence[object], values: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self.written = list(written)
        self.values = dict(values)


class _Arguments(Compiled):
    __slots__ = ("_items", "_written")

    def __init__(self, items: Sequence[Sequence[str | Reference]], written: Sequence[object]) -> None:
        super().__init__(references=(part for item in items for part in item if isinstance(part, Reference)))
        self._items = items
        self._written = written

    def render(self, lookup: Lookup) -> object:
        values: dict[str, str] = {}
        arguments = []
        for item in self._items:
            texts = [part if isinstance(part, str) else _fill(part, lookup, len(item) == 1, values) for part in item]
            arguments.append("".join(texts))
        return ArgumentList(arguments, self._written, values)


def compile_arguments(
    items: Sequence[Sequence[str | Reference]], written: Sequence[object], given: Given
) -> tuple[Compiled, list[Problem]]:
    """A list of arguments, each as its text and templates; it renders to an `ArgumentList`."""
    references = [part for item in items for part in item if isinstance(part, Reference)]
    problems = list(_shape_problems(items))
    if not problems and (references or any(given)):
        problems = _lint(items, given)
    if any(not problem.newer for problem in problems):
        return refuse(references, problems)
    return (_Arguments(items, written) if references else Compiled(list(written))), problems


def argument_text(reference: Reference, value: object) -> str:
    """A value as text that a command can carry. Raises `StepError`."""
    text = as_text(value)
    if "\0" in text:
        raise _unfit(reference, "holds a NUL character, which no command line can carry")
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as error:
        raise _unfit(reference, "is not valid Unicode", "clean it in a `code` step") from error
    if size > LONGEST_BYTES:
        raise _unfit(reference, f"has {size:,} bytes; a command takes up to {LONGEST_BYTES:,} in one value")
    return text


def _fill(reference: Reference, lookup: Lookup, whole: bool, values: dict[str, str]) -> str:
    value = lookup(reference)
    if whole and not isinstance(value, str | int | float):
        hint = "name one of its items, as in `${list[0]}`, or pass it as `stdin`, where it arrives as JSON"
        raise _unfit(reference, f"is {describe(value)}, and an argument is a string, a number or a boolean", hint)
    values[reference.text] = argument_text(reference, value)
    return values[reference.text]


def _shape_problems(items: Sequence[Sequence[str | Reference]]) -> Iterator[Problem]:
    if not items or not items[0] or items[0] == [""]:
        yield Problem("`command` is a list without a program", 'write `["program", "argument"]`')
    for index, item in enumerate(items):
        if any(isinstance(part, str) and "\0" in part for part in item):
            yield Problem("an argument holds a NUL character", "take it out", (index,))


def _lint(items: Sequence[Sequence[str | Reference]], given: Given) -> list[Problem]:
    from pflow.core.template.shell_lint import (
        lint_arguments,
    )  # lazy: it costs 5 ms

    return lint_arguments(items, given)


def _unfit(reference: Reference, why: str, instead: str = "pass it as `stdin`") -> StepError:
    from pflow.core.printable import shorten  # lazy: only failures show text

    return StepError(f"the value of `{shorten(reference.text)}` {why}", suggestions=[instead])
