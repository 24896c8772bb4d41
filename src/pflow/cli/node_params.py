"""Runs one node with parameters from the command line, once all of them are there, known and of the right type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.cli.argument import read_params
from pflow.cli.console import Console
from pflow.cli.run_report import run_watched
from pflow.cli.text import quote
from pflow.core.errors import InputError
from pflow.core.interface import Field
from pflow.core.suggest import did_you_mean

if TYPE_CHECKING:
    from pflow.workspace import Entry, Outcome


def required(entry: Entry) -> list[Field]:
    """What a node cannot do without."""
    return [field for field in (*entry.interface.params, *entry.interface.reads) if field.required]


def run_node(console: Console, entry: Entry, params: Sequence[str], command: Sequence[str]) -> Outcome:
    """Run one node with the parameters of a command line; `command` is the words before them."""
    given = read_params(word.removeprefix("--") for word in params)
    _check_given(entry, given, [*command, *params])
    return run_watched(console, lambda workspace: workspace.begin(workspace.one_step(entry.name, given, text=True)))


def _check_given(entry: Entry, given: Mapping[str, str], command: Sequence[str]) -> None:
    """Raise `InputError` with everything that is wrong; `command` is the line without what is missing."""
    fields = {field.name: field for field in (*entry.interface.params, *entry.interface.reads)}
    missing = [field.name for field in required(entry) if field.name not in given]
    unknown = [] if entry.interface.open_params else [name for name in given if name not in fields]
    problems = [
        "; ".join(filter(None, (f"`{entry.name}` has no parameter `{name}`", did_you_mean(name, fields))))
        for name in unknown
    ]
    wrong = {
        name: problem for name, value in given.items() if name in fields and (problem := _wrong(fields[name], value))
    }
    problems += wrong.values()
    if missing:
        problems.append(f"`{entry.name}` needs {', '.join(f'`{name}`' for name in missing)}")
    if not problems:
        return
    shown = [name for name in fields if name in missing or name in wrong or unknown]
    works = " ".join([*(quote(word) for word in command), *(f"{name}=…" for name in missing)])
    raise InputError(
        "; ".join(problems),
        details={
            **({"missing": missing} if missing else {}),
            "problems": problems,
            "inputs": {name: _describe(fields[name], always=name in missing) for name in shown},
        },
        suggestions=[works] if missing and len(problems) == 1 else [f"pflow registry describe {entry.name}"],
    )


def _wrong(field: Field, value: str) -> str:
    from pflow.workspace import coerce_text  # lazy: help and completion read no values

    try:
        coerce_text(value, field.type, field.name)
    except InputError as error:
        return error.message
    return ""


def _describe(field: Field, *, always: bool) -> str:
    kind = field.type if field.required or always else f"{field.type}, optional"
    return f"{kind}. {field.description}".rstrip(". ")
