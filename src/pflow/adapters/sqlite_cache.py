"""What pure steps wrote, by key, in the journal's database: bounded, least recently used goes first."""

from __future__ import annotations

import sqlite3

from pflow.adapters.sqlite_database import Database
from pflow.adapters.sqlite_file import DATABASE_ERRORS, unless_broken
from pflow.adapters.sqlite_row import transaction

CACHE_BYTES = 64 << 20

_REMEMBERED = 10_000
"""Uses to remember between two entries, at most."""


class SqliteCache:
    """See `pflow.engine.ports.Cache`. Uses are remembered and written with the next entry, not one by one."""

    def __init__(self, database: Database, *, limit: int = CACHE_BYTES) -> None:
        self._database = database
        self._limit = limit
        self._used: dict[str, None] = {}
        self._unchecked = limit

    def get(self, key: str) -> bytes | None:
        """What was put under this key; nothing where the cache is damaged, which must not fail a run."""
        with self._database.reading() as database:
            statement = "SELECT data FROM cache WHERE key = ?"
            row = unless_broken(lambda: database.execute(statement, (key,)).fetchone(), None)
            if row is None or not isinstance(row[0], bytes):
                return None
            if len(self._used) < _REMEMBERED:
                self._used.pop(key, None)
                self._used[key] = None
            return row[0]

    def put(self, key: str, data: bytes) -> None:
        """Keep it; what was not used for the longest time makes room."""
        with self._database.writing() as database:
            if len(data) <= self._limit:
                unless_broken(lambda: self._insert(database, key, data), None)

    def close(self) -> None:
        """Store which entries were used, while the journal is still open."""
        with self._database.lock:
            database = self._database.connection
            if database is None or not self._used:
                return
            try:
                with transaction(database):
                    self._flush(database)
            except DATABASE_ERRORS:
                pass  # which entries were used is not worth a failure at the end

    def _insert(self, database: sqlite3.Connection, key: str, data: bytes) -> None:
        with transaction(database):
            self._flush(database)
            database.execute(
                "INSERT OR REPLACE INTO cache (key, data, size, used) "
                "VALUES (?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM cache))",
                (key, data, len(data)),
            )
            # Adding everything up for every entry would cost more than the entries; others may add meanwhile.
            self._unchecked += len(data)
            if self._unchecked >= self._limit // 16:
                self._unchecked = 0
                self._make_room(database)

    def _flush(self, database: sqlite3.Connection) -> None:
        for key in self._used:
            database.execute("UPDATE cache SET used = (SELECT max(used) + 1 FROM cache) WHERE key = ?", (key,))
        self._used.clear()

    def _make_room(self, database: sqlite3.Connection) -> None:
        over = database.execute("SELECT coalesce(sum(size), 0) FROM cache").fetchone()[0] - self._limit
        for used, size in database.execute("SELECT used, size FROM cache ORDER BY used").fetchall():
            if over <= 0:
                return
            database.execute("DELETE FROM cache WHERE used = ?", (used,))
            over -= size
