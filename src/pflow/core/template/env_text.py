"""Variables that a workflow gives to a command: no value may be put into one that leads programs to what they run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.errors import StepError
from pflow.core.template.compiled import Compiled, Given, Lookup, Problem
from pflow.core.template.env_name import check_env_value

_INSTEAD = "write its value out, or give the variable another name"


class _Checked(Compiled):
    """Variables whose names only a run knows; they are checked then."""

    __slots__ = ("_variables",)

    def __init__(self, variables: Compiled) -> None:
        super().__init__(references=variables.references)
        self._variables = variables

    def render(self, lookup: Lookup) -> object:
        found = self._variables.render(lookup)
        for name in found if isinstance(found, Mapping) else ():
            reason = check_env_value(str(name))
            if reason is not None:
                raise StepError(f"`env` has a variable `{name}` that cannot be set", suggestions=[reason])
        return found


def check_env(given: Given) -> Iterator[Problem]:
    """The variables that hold a template and may not."""
    for name, template in given.variables.items():
        reason = check_env_value(name)
        if reason is not None:
            yield Problem(f"`{template}` cannot be the value of `{name}`: {reason}", _INSTEAD, (name,), newer=True)


def check_later(variables: Compiled) -> Compiled:
    """The same variables, with their names checked when they are known."""
    return _Checked(variables)
