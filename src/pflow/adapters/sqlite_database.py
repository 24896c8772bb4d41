"""One process's connection to the journal's file: made when needed, and made anew when the file was moved."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pflow.adapters.sqlite_file import (
    DATABASE_ERRORS,
    file_identity,
    is_broken,
    open_database,
    open_empty,
    open_readonly,
    set_aside_database,
    sqlite_error,
)
from pflow.core.errors import StorageError


class Database:
    """The file, shared by the journal and the cache. `on_loss` is called when the file was moved or set aside."""

    def __init__(self, path: Path, *, full_sync: bool, on_loss: Callable[[], None]) -> None:
        self.path = path
        self.notices: list[str] = []
        self.lock = threading.RLock()
        self.is_closed = False
        self.connection: sqlite3.Connection | None = None
        self._name = os.fspath(path)
        self._full_sync = full_sync
        self._on_loss = on_loss
        self._file: tuple[int, int] | None = None
        self._token = ""

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection, with errors of SQLite as `StorageError`."""
        with self.lock:
            try:
                yield self._open()
            except DATABASE_ERRORS as error:
                raise self.failure(error) from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The database as far as it can be read; reading creates no file."""
        with self.lock:
            borrowed: sqlite3.Connection | None = None
            try:
                if self.connection is None and not self.is_closed and not os.path.lexists(self.path):
                    database = borrowed = open_empty()
                else:
                    try:
                        database = self._open()
                    except StorageError:
                        if self.is_closed or not self.path.exists():
                            raise
                        database = borrowed = open_readonly(self.path)
                yield database
            except DATABASE_ERRORS as error:
                raise self.failure(error) from error
            finally:
                if borrowed is not None:
                    borrowed.close()

    def version(self) -> str:
        """Changes with every commit: SQLite counts those of others, and the rows that this connection changed."""
        with self.lock:
            if self.connection is None and not self.is_closed and not os.path.lexists(self.path):
                return str(None)
        with self.reading() as database:
            if database is not self.connection:
                return str(file_identity(self._name))  # nothing of it can change
            [others] = database.execute("PRAGMA data_version").fetchone()
            return f"{self._token}-{others}-{database.total_changes}"

    def is_moved(self) -> bool:
        """Whether our file is no longer the journal; then it is closed, and the runs in it are lost."""
        if self._file == file_identity(self._name):
            return False
        self.notices.append(f"the journal `{self.path}` was moved or deleted; a new one was started")
        self._let_go()
        return True

    def failure(self, error: Exception) -> StorageError:
        """What to raise for an error of SQLite; a broken file is set aside."""
        if not is_broken(error):
            return sqlite_error(self.path, error)
        # Moved before it is closed, or SQLite would still write its log into it.
        corrupt = set_aside_database(self.path, self.notices)
        self._let_go()
        return corrupt

    def close(self) -> None:
        """Close the connection for good."""
        self.is_closed = True
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _open(self) -> sqlite3.Connection:
        if self.is_closed:
            raise StorageError("the journal is closed")
        if self.connection is not None and not self.is_moved():
            return self.connection
        self.connection = open_database(self.path, self.notices, full_sync=self._full_sync)
        self._file = file_identity(self._name)
        self._token = os.urandom(4).hex()  # the counts start over with each connection
        return self.connection

    def _let_go(self) -> None:
        if self.connection is not None:
            self.connection.close()
        self.connection = None
        self._on_loss()
