"""The policy `shell.strict`: values reach a program only as arguments of a command that is a list."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.printable import shorten
from pflow.core.template.compiled import Problem
from pflow.core.template.template import given_beside, references_of

_HINT = 'write `command` as a list of arguments: `["program", "${value}"]`'


def check_strict(command: object, beside: Mapping[str, object]) -> list[Problem]:
    """The values in a command line, of which a strict policy allows none."""
    if not isinstance(command, str):
        return []
    names = [f"`{shorten(reference.text)}`" for reference in references_of(command)]
    given = given_beside(beside)
    names += [f"`${name}`, which holds `{held}`," for name, held in given.variables.items() if name in command]
    if given.every:
        names.append(f"`{given.every}`, which gives all variables,")
    return [Problem(f"{name} stands in a command line, which `shell.strict` refuses", _HINT) for name in names]
