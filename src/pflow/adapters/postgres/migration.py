"""The schema in Postgres: numbered scripts that only add, each applied once, and what a version means to this pflow."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pflow.adapters.postgres.session import Session, SessionError
from pflow.core.advice import Advice
from pflow.core.errors import StorageError

_FOLDER = Path(__file__).parent / "schema"
_LOCK = 0x70666C77
"""The advisory lock under which the schema is changed: "pflw"."""

_NO_SCHEMA = ("42P01", "3F000")
"""Undefined table, undefined schema."""


@cache
def scripts() -> tuple[str, ...]:
    """The scripts, each of which takes a schema from the version that is its index to the next."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.sql")))


def read_version(session: Session) -> tuple[int, int]:
    """The version of a schema, 0 without one, and the oldest that a pflow may know to work with it."""
    try:
        rows = session.rows("SELECT max(version), max(oldest) FROM pflow.schema_version")
    except SessionError as error:
        if error.code in _NO_SCHEMA:
            return 0, 0
        raise
    match rows:
        case [[int(version), int(oldest)]]:
            return version, oldest
    return 0, 0


def check_version(session: Session, place: str) -> None:
    """Raise `StorageError` for a schema that this pflow cannot work with, with the command that helps."""
    version, oldest = read_version(session)
    known = len(scripts())
    if version < known:
        has = f"has version {version}" if version else "has no tables yet"
        raise StorageError(
            f"the journal of place `{place}` {has}; this pflow needs version {known}",
            details={"place": place, "needs": known, **({"version": version} if version else {})},
            suggestions=[Advice("run `{migrate_journal}`", place=place)],
        )
    if oldest > known:
        raise newer(place, version)


def newer(place: str, version: int) -> StorageError:
    """What to raise for a schema that is too new."""
    known = len(scripts())
    return StorageError(
        f"the journal of place `{place}` has version {version}; this pflow knows up to {known}",
        details={"place": place, "version": version, "knows": known},
        suggestions=["update pflow: `pip install --upgrade 'pflow[cluster]'`"],
    )


def migrate(session: Session, place: str) -> tuple[int, int]:
    """Apply the scripts that are missing, all or none, one process at a time; the versions before and after."""
    session.script("BEGIN")
    try:
        session.rows("SELECT pg_advisory_xact_lock($1::bigint)", _LOCK)
        [[encoding]] = session.rows("SELECT current_setting('server_encoding')")
        if encoding != "UTF8":
            raise StorageError(
                f"the database of place `{place}` has the encoding `{encoding}`; a journal needs `UTF8`",
                suggestions=["make a database with `createdb --encoding UTF8 --template template0 NAME`"],
            )
        [[has_schema]] = session.rows("SELECT to_regclass('pflow.schema_version') IS NOT NULL")
        before, oldest = read_version(session) if has_schema else (0, 0)
        if oldest > len(scripts()):
            raise newer(place, before)
        for script in scripts()[before:]:
            session.script(script)
        session.script("COMMIT")
    except BaseException:  # undone, and raised again
        session.close()  # which takes all of it back
        raise
    return before, max(before, len(scripts()))
