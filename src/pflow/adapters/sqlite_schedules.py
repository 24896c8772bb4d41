"""Schedules and their due times, in the journal's database: whoever inserts a due time first has claimed it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pflow.adapters.lease import Lease, is_alive
from pflow.adapters.sqlite_database import Database
from pflow.adapters.sqlite_row import transaction
from pflow.core.printable import is_text
from pflow.core.schedule.name import name_taken, no_such_schedule
from pflow.engine.ports import OPEN, Tick

if TYPE_CHECKING:
    from pflow.core.schedule.policy import Outcome

_COLUMNS = "schedule, due, outcome, at, run_id, tries, note, asked, owner"
_AT_ONCE = 500
"""Values in one statement, at most; SQLite takes 999 or more."""


class SqliteSchedules:
    """See `pflow.engine.ports.Schedules`. Claims last as long as the lease of this process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owners = database.path.parent / "owners"
        self._lease: Lease | None = None

    def add(self, name: str, data: bytes) -> None:
        """Store a schedule under a new name."""
        with self._database.writing() as database:
            statement = "INSERT OR IGNORE INTO schedules (name, data) VALUES (?, ?)"
            if not database.execute(statement, (name, data)).rowcount:
                raise name_taken(name)

    def all(self) -> Mapping[str, bytes]:
        """Every schedule, by name."""
        with self._database.reading() as database:
            rows = database.execute("SELECT name, data FROM schedules ORDER BY name").fetchall()
        return {str(name): data if isinstance(data, bytes) else b"" for name, data in rows}

    def change(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a schedule by what `change` makes of it."""
        with self._database.writing() as database, transaction(database):
            statement = "SELECT data FROM schedules WHERE name = ?"
            row = database.execute(statement, (name,)).fetchone() if is_text(name) else None
            if row is None:
                raise no_such_schedule(name, self.all())
            database.execute("UPDATE schedules SET data = ? WHERE name = ?", (change(bytes(row[0])), name))

    def remove(self, name: str) -> None:
        """Forget a schedule and its due times."""
        with self._database.writing() as database, transaction(database):
            if not is_text(name) or not database.execute("DELETE FROM schedules WHERE name = ?", (name,)).rowcount:
                raise no_such_schedule(name, self.all())
            database.execute("DELETE FROM ticks WHERE schedule = ?", (name,))

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for all that is stored inside."""
        with self._database.writing() as database, transaction(database):
            yield

    def put(self, tick: Tick, seen: Tick | None = None) -> bool:
        """Store what became of a due time, if nothing else is stored for it than what was seen."""
        with self._database.writing() as database:
            owner = self._owner() if tick.outcome == "claimed" else ""
            values = (tick.outcome, tick.at, tick.run_id, tick.tries, tick.note, tick.asked, owner)
            if seen is None:
                statement = f"INSERT OR IGNORE INTO ticks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                return bool(database.execute(statement, (tick.schedule, tick.due, *values)).rowcount)
            statement = (
                "UPDATE ticks SET outcome = ?, at = ?, run_id = ?, tries = ?, note = ?, asked = ?, owner = ? "
                "WHERE schedule = ? AND due = ? AND outcome = ? AND run_id = ? AND owner = ?"
            )
            before = (tick.schedule, tick.due, seen.outcome, seen.run_id, seen.owner)
            return bool(database.execute(statement, (*values, *before)).rowcount)

    def ticks(
        self,
        schedule: str | None = None,
        *,
        since: float | None = None,
        outcomes: Iterable[Outcome] = (),
        limit: int | None = None,
    ) -> Sequence[Tick]:
        """Due times, the last first."""
        tests: list[str] = []
        params: list[object] = []
        if schedule is not None:
            tests.append("schedule = ?")
            params.append(schedule)
        if since is not None:
            tests.append("due > ?")
            params.append(since)
        if wanted := tuple(outcomes):
            tests.append(f"outcome IN ({', '.join('?' * len(wanted))})")
            params += wanted
        return self._select(" AND ".join(tests) or "1", params, -1 if limit is None else limit)

    def started(self, run_ids: Iterable[str]) -> Mapping[str, Tick]:
        """Which of these runs a schedule started."""
        wanted = sorted({run_id for run_id in run_ids if run_id and is_text(run_id)})
        found: dict[str, Tick] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            test = f"run_id != '' AND run_id IN ({', '.join('?' * len(part))})"
            found.update((tick.run_id, tick) for tick in self._select(test, [*part], -1))
        return found

    def forget(self, before: float) -> None:
        """Drop due times before a moment that are done with."""
        with self._database.writing() as database:
            test = f"due < ? AND outcome NOT IN ({', '.join('?' * len(OPEN))})"
            database.execute(f"DELETE FROM ticks WHERE {test}", (before, *OPEN))

    def close(self) -> None:
        """Let go of the claims."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def _select(self, test: str, params: list[object], limit: int) -> list[Tick]:
        statement = f"SELECT {_COLUMNS} FROM ticks WHERE {test} ORDER BY due DESC, schedule LIMIT ?"
        with self._database.reading() as database:
            rows = database.execute(statement, [*params, limit]).fetchall()
        return [self._tick(*row) for row in rows]

    def _tick(
        self,
        schedule: str,
        due: float,
        outcome: Outcome,
        at: float,
        run_id: str,
        tries: int,
        note: str,
        asked: int,
        owner: str,
    ) -> Tick:
        return Tick(
            schedule=schedule,
            due=due,
            outcome=outcome,
            at=at,
            run_id=run_id,
            tries=tries,
            note=note,
            asked=bool(asked),
            owner=owner,
            alive=bool(owner) and self._is_alive(owner),
        )

    def _owner(self) -> str:
        if self._lease is None:
            self._lease = Lease(self._owners)
        return self._lease.owner

    def _is_alive(self, owner: str) -> bool:
        return (self._lease is not None and owner == self._lease.owner) or is_alive(self._owners, owner)
