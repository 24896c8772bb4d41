"""The errors about names of schedules."""

from __future__ import annotations

from collections.abc import Iterable

from pflow.core.advice import Advice
from pflow.core.errors import ExistsError, NotFoundError
from pflow.core.file.file_name import show
from pflow.core.suggest import did_you_mean


def name_taken(name: str) -> ExistsError:
    """The error for a name that another schedule has."""
    return ExistsError(
        f"there is already a schedule `{show(name)}`",
        suggestions=[Advice("choose another name, or remove that one first with `{remove_schedule}`", name=show(name))],
    )


def no_such_schedule(name: str, known: Iterable[str]) -> NotFoundError:
    """The error for a name that no schedule has."""
    hint = did_you_mean(name, known) or Advice("`{list_schedules}` shows which there are")
    return NotFoundError(f"there is no schedule `{show(name)}`", suggestions=[hint])
