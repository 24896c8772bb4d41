"""The schedules of a place by name, each with what it runs, in the database of the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.session import Session
from pflow.adapters.postgres.text import from_stored, to_stored
from pflow.core.printable import is_text
from pflow.core.schedule.name import name_taken, no_such_schedule

_ADD = "INSERT INTO pflow.schedules (queue, name, data) VALUES ($1, $2, $3::bytea) ON CONFLICT DO NOTHING RETURNING 1"
_ALL = "SELECT name, data FROM pflow.schedules WHERE queue = $1 ORDER BY name"
_LOCK = "SELECT data FROM pflow.schedules WHERE queue = $1 AND name = $2 FOR UPDATE"
_CHANGE = "UPDATE pflow.schedules SET data = $3::bytea WHERE queue = $1 AND name = $2"
_REMOVE = "DELETE FROM pflow.schedules WHERE queue = $1 AND name = $2 RETURNING 1"


class PostgresTimetable:
    """See `pflow.engine.ports.Timetable`. Each queue of the place has its own."""

    def __init__(self, database: PostgresDatabase, queue: str) -> None:
        self._database = database
        self._queue = to_stored(queue)

    def add(self, name: str, data: bytes) -> None:
        """Store a schedule under a new name."""
        with self._database.using() as session:
            if not session.rows(_ADD, self._queue, to_stored(name), data):
                raise name_taken(name)

    def all(self) -> Mapping[str, bytes]:
        """Every schedule, by name."""
        with self._database.using() as session:
            return self._all(session)

    def change(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a schedule by what `change` makes of it."""
        with self._database.transaction() as session:
            match session.rows(_LOCK, self._queue, to_stored(name)) if is_text(name) else []:
                case [[bytes(data)]]:
                    session.rows(_CHANGE, self._queue, to_stored(name), change(data))
                case _:
                    raise no_such_schedule(name, self._all(session))

    def remove(self, name: str) -> None:
        """Forget a schedule."""
        with self._database.transaction() as session:
            if not is_text(name) or not session.rows(_REMOVE, self._queue, to_stored(name)):
                raise no_such_schedule(name, self._all(session))

    def _all(self, session: Session) -> dict[str, bytes]:
        rows = session.rows(_ALL, self._queue)
        return {from_stored(str(name)): data if isinstance(data, bytes) else b"" for name, data in rows}
