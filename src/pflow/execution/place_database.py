"""Opens the database of a place: its settings, the driver, and the password that a credential holds."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.errors import UsageError
from pflow.core.setting.place import Place, journal_of
from pflow.core.setting.redactor import Redactor

if TYPE_CHECKING:
    from pflow.adapters.postgres.database import PostgresDatabase


def open_place(place: Place | None, lookup: Callable[[str], str | None], redactor: Redactor) -> PostgresDatabase:
    """The database, not yet connected to. Raises `UsageError` for what is missing."""
    if place is None:
        raise UsageError("say at which place, with `--on PLACE`")
    journal_of(place)
    password = _password(place, lookup)
    if password:
        redactor.add(place.journal_password, password)
    if find_spec("pg8000") is None:
        raise UsageError(
            f"place `{place.name}` needs the driver of its database, which is not installed",
            suggestions=["install it with `pip install 'pflow[cluster]'`"],
        )
    from pflow.adapters.postgres.database import PostgresDatabase  # lazy: the driver is an extra

    return PostgresDatabase(place, password)


def _password(place: Place, lookup: Callable[[str], str | None]) -> str:
    if not place.journal_password:
        return ""
    password = lookup(place.journal_password)
    if not password:
        key = f"on.{place.name}.journal_password"
        raise UsageError(
            f"the password of place `{place.name}` is not set: `{key}` names `{place.journal_password}`",
            suggestions=[Advice("store it with `{store_secret}`", name=place.journal_password)],
        )
    return password
