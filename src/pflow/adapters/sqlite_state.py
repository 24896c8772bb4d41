"""What workflows keep between runs, in the journal's database: the newest versions of each value."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence

from pflow.adapters.sqlite_database import Database
from pflow.adapters.sqlite_row import transaction
from pflow.core.advice import Advice
from pflow.core.errors import DamagedError, ExistsError
from pflow.core.file.file_name import show
from pflow.core.printable import is_text
from pflow.engine.ports import STATE_VERSIONS, Decide, StateVersion

_SELECT = "SELECT workflow, key, version, value, run_id, at FROM state"
_NEWEST = "version = (SELECT max(version) FROM state s WHERE s.workflow = state.workflow AND s.key = state.key)"


class SqliteStates:
    """See `pflow.engine.ports.StateStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, workflows: Collection[str]) -> Sequence[StateVersion]:
        """The newest version of every value of these workflows."""
        names = [name for name in workflows if is_text(name)]
        wanted = f"{_SELECT} WHERE workflow IN ({', '.join('?' * len(names))}) AND {_NEWEST} ORDER BY workflow, key"
        with self._database.reading() as database:
            return [_version(row) for row in database.execute(wanted, names).fetchall()]

    def change(
        self, changes: Mapping[tuple[str, str], Decide], *, run_id: str, at: float
    ) -> Mapping[tuple[str, str], StateVersion]:
        """Change values, all or none."""
        found: dict[tuple[str, str], StateVersion] = {}
        with self._database.writing() as database, transaction(database):
            for (workflow, key), decide in changes.items():
                newest = _newest(database, workflow, key)
                data = decide(newest)
                if data != (newest.data if newest else None):
                    newest = _insert(database, workflow, key, newest, data, run_id, at)
                if newest is not None:
                    found[workflow, key] = newest
        return found

    def history(self, workflow: str, key: str | None = None) -> Sequence[StateVersion]:
        """The versions that are kept, newest first."""
        if not is_text(f"{workflow}{key}"):
            return []
        one, params = ("", (workflow,)) if key is None else (" AND key = ?", (workflow, key))
        with self._database.reading() as database:
            rows = database.execute(f"{_SELECT} WHERE workflow = ?{one} ORDER BY id DESC", params).fetchall()
            return [_version(row) for row in rows]

    def workflows(self) -> Sequence[str]:
        """The workflows that keep something."""
        with self._database.reading() as database:
            return [str(name) for (name,) in database.execute("SELECT DISTINCT workflow FROM state ORDER BY workflow")]

    def rename(self, workflow: str, new_name: str) -> None:
        """Let everything be kept under another name."""
        with self._database.writing() as database, transaction(database):
            has_state = "SELECT 1 FROM state WHERE workflow = ? LIMIT 1"
            if not database.execute(has_state, (workflow,)).fetchone():
                return
            if database.execute(has_state, (new_name,)).fetchone():
                raise ExistsError(f"there is state of `{show(new_name)}` already")
            database.execute("UPDATE state SET workflow = ? WHERE workflow = ?", (new_name, workflow))

    def forget(self, workflow: str) -> bool:
        """Delete all that a workflow keeps."""
        if not is_text(workflow):
            return False
        with self._database.writing() as database:
            return database.execute("DELETE FROM state WHERE workflow = ?", (workflow,)).rowcount > 0


def _newest(database: sqlite3.Connection, workflow: str, key: str) -> StateVersion | None:
    wanted = f"{_SELECT} WHERE workflow = ? AND key = ? ORDER BY version DESC LIMIT 1"
    row = database.execute(wanted, (workflow, key)).fetchone()
    return None if row is None else _version(row)


def _insert(
    database: sqlite3.Connection,
    workflow: str,
    key: str,
    before: StateVersion | None,
    data: bytes | None,
    run_id: str,
    at: float,
) -> StateVersion:
    version = before.version + 1 if before is not None else 1
    database.execute(
        "INSERT INTO state (workflow, key, version, value, run_id, at) VALUES (?, ?, ?, ?, ?, ?)",
        (workflow, key, version, data, run_id, at),
    )
    old = (workflow, key, version - STATE_VERSIONS)
    database.execute("DELETE FROM state WHERE workflow = ? AND key = ? AND version <= ?", old)
    return StateVersion(workflow=workflow, key=key, version=version, data=data, run_id=run_id, at=at)


def _version(row: tuple[object, ...]) -> StateVersion:
    match row:
        case (str(workflow), str(key), int(version), bytes() | None as data, str(run_id), float(at)):
            return StateVersion(workflow=workflow, key=key, version=version, data=data, run_id=run_id, at=at)
    name, of = show(str(row[1])), show(str(row[0]))
    raise DamagedError(
        f"the journal holds a value `{name}` of `{of}` that cannot be read",
        suggestions=[Advice("`{forget_state}` deletes what is kept there", workflow=of)],
    )
