"""What pure steps wrote, by key, in the journal's database: bounded, least recently used goes first."""

from __future__ import annotations

import sqlite3

CACHE_BYTES = 64 << 20

_REMEMBERED = 10_000


class Cache:
    """The cache as one process sees it. Uses are remembered and written with the next entry, not one by one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used: dict[str, None] = {}
        self._unchecked = limit

    def get(self, database: sqlite3.Connection, key: str) -> bytes | None:
        """The entry of that key."""
        row = database.execute("SELECT data FROM cache WHERE key = ?", (key,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            return None
        if len(self._used) < _REMEMBERED:
            self._used.pop(key, None)
            self._used[key] = None
        return row[0]

    def put(self, database: sqlite3.Connection, key: str, data: bytes) -> None:
        """Store an entry, inside a transaction of the caller."""
        if len(data) > self._limit:
            return
        self.flush(database)
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

    def flush(self, database: sqlite3.Connection) -> None:
        """Store which entries were used, inside a transaction of the caller."""
        for key in self._used:
            database.execute(
                "UPDATE cache SET used = (SELECT max(used) + 1 FROM cache) WHERE key = ?",
                (key,),
            )
        self._used.clear()

    def has_news(self) -> bool:
        """Whether there is something to flush."""
        return bool(self._used)

    def _make_room(self, database: sqlite3.Connection) -> None:
        over = database.execute("SELECT coalesce(sum(size), 0) FROM cache").fetchone()[0] - self._limit
        for used, size in database.execute("SELECT used, size FROM cache ORDER BY used").fetchall():
            if over <= 0:
                return
            database.execute("DELETE FROM cache WHERE used = ?", (used,))
            over -= size
