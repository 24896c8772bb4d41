"""What workflows keep between runs, in the journal's database: the newest versions of each value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.session import Row, Session
from pflow.adapters.postgres.text import from_stored, to_stored
from pflow.core.advice import Advice
from pflow.core.errors import DamagedError, ExistsError
from pflow.core.file.file_name import show
from pflow.core.printable import is_text
from pflow.engine.ports import STATE_VERSIONS, Decide, StateVersion

_SELECT = "SELECT workflow, key, version, value, run_id, at FROM pflow.state"
_NEWEST = "version = (SELECT max(version) FROM pflow.state s WHERE s.workflow = state.workflow AND s.key = state.key)"

_LOCK = 0x7374617465
"""The advisory lock of all changes ("state"). One for all cannot lead to deadlocks, in whatever order runs end."""


class PostgresStates:
    """See `pflow.engine.ports.StateStore`."""

    def __init__(self, database: PostgresDatabase, check_open: Callable[[], None]) -> None:
        self._database = database
        self._check_open = check_open

    def read(self, workflows: Collection[str]) -> Sequence[StateVersion]:
        """The newest version of every value of these workflows."""
        names = [to_stored(name) for name in workflows if is_text(name)]
        wanted = f"{_SELECT} WHERE workflow = ANY($1::text[]) AND {_NEWEST}"
        return sorted(self._rows(wanted, names), key=lambda one: (one.workflow, one.key))

    def change(
        self, changes: Mapping[tuple[str, str], Decide], *, run_id: str, at: float
    ) -> Mapping[tuple[str, str], StateVersion]:
        """Change values, all or none."""
        self._check_open()
        found: dict[tuple[str, str], StateVersion] = {}
        with self._database.transaction() as session:
            _lock(session)
            for (workflow, key), decide in changes.items():
                newest = _newest(session, workflow, key)
                data = decide(newest)
                if data != (newest.data if newest else None):
                    newest = _insert(session, workflow, key, newest, data, run_id, at)
                if newest is not None:
                    found[workflow, key] = newest
        return found

    def history(self, workflow: str, key: str | None = None) -> Sequence[StateVersion]:
        """The versions that are kept, newest first."""
        if not is_text(f"{workflow}{key}"):
            return []
        wanted = f"{_SELECT} WHERE workflow = $1 AND ($2::text IS NULL OR key = $2) ORDER BY id DESC"
        return self._rows(wanted, to_stored(workflow), None if key is None else to_stored(key))

    def workflows(self) -> Sequence[str]:
        """The workflows that keep something."""
        self._check_open()
        with self._database.using() as session:
            found = session.rows("SELECT DISTINCT workflow FROM pflow.state")
        return sorted(from_stored(str(name)) for (name,) in found)

    def rename(self, workflow: str, new_name: str) -> None:
        """Let everything be kept under another name."""
        self._check_open()
        with self._database.transaction() as session:
            _lock(session)
            has_state = "SELECT 1 FROM pflow.state WHERE workflow = $1 LIMIT 1"
            if not session.rows(has_state, to_stored(workflow)):
                return
            if session.rows(has_state, to_stored(new_name)):
                raise ExistsError(f"there is state of `{show(new_name)}` already")
            renaming = "UPDATE pflow.state SET workflow = $2 WHERE workflow = $1"
            session.rows(renaming, to_stored(workflow), to_stored(new_name))

    def forget(self, workflow: str) -> bool:
        """Delete all that a workflow keeps."""
        if not is_text(workflow):
            return False
        self._check_open()
        with self._database.transaction() as session:
            _lock(session)
            return bool(session.rows("DELETE FROM pflow.state WHERE workflow = $1 RETURNING 1", to_stored(workflow)))

    def _rows(self, statement: str, *values: str | Sequence[str] | None) -> list[StateVersion]:
        self._check_open()
        with self._database.using() as session:
            return [_version(row) for row in session.rows(statement, *values)]


def _lock(session: Session) -> None:
    session.rows("SELECT pg_advisory_xact_lock($1::bigint)", _LOCK)


def _newest(session: Session, workflow: str, key: str) -> StateVersion | None:
    wanted = f"{_SELECT} WHERE workflow = $1 AND key = $2 ORDER BY version DESC LIMIT 1"
    found = session.rows(wanted, to_stored(workflow), to_stored(key))
    return _version(found[0]) if found else None


def _insert(
    session: Session,
    workflow: str,
    key: str,
    before: StateVersion | None,
    data: bytes | None,
    run_id: str,
    at: float,
) -> StateVersion:
    version = before.version + 1 if before is not None else 1
    names = (to_stored(workflow), to_stored(key))
    session.rows(
        "INSERT INTO pflow.state (workflow, key, version, value, run_id, at) "
        "VALUES ($1, $2, $3::integer, $4::bytea, $5, $6::float8)",
        *names,
        version,
        data,
        to_stored(run_id),
        float(at),
    )
    old = "DELETE FROM pflow.state WHERE workflow = $1 AND key = $2 AND version <= $3::integer"
    session.rows(old, *names, version - STATE_VERSIONS)
    return StateVersion(workflow=workflow, key=key, version=version, data=data, run_id=run_id, at=at)


def _version(row: Row) -> StateVersion:
    match row:
        case [str(workflow), str(key), int(version), bytes() | None as data, str(run_id), float(at)]:
            return StateVersion(
                workflow=from_stored(workflow),
                key=from_stored(key),
                version=version,
                data=data,
                run_id=from_stored(run_id),
                at=at,
            )
    name, of = show(str(row[1])), show(str(row[0]))
    raise DamagedError(
        f"the journal holds a value `{name}` of `{of}` that cannot be read",
        suggestions=[Advice("`{forget_state}` deletes what is kept there", workflow=of)],
    )
