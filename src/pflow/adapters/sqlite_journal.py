"""The durable journal: one SQLite file in WAL mode for all runs and processes of a home.

What was appended survives the death of the process at once. It survives a power cut at once with `sync="full"`,
else from the next checkpoint on. A run belongs to whoever holds the lease that its row names.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pflow.adapters.lease import Lease, is_alive
from pflow.adapters.sqlite_cache import CACHE_BYTES, Cache
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
from pflow.adapters.sqlite_row import (
    SELECT,
    Row,
    append_all,
    append_plainly,
    count_events,
    event_ids,
    find_run,
    insert,
    is_text,
    run_info,
    taken_over,
    transaction,
)
from pflow.core.advice import Advice
from pflow.core.errors import (
    ConflictError,
    CorruptError,
    DamagedError,
    ExistsError,
    NotFoundError,
    PflowError,
    StorageError,
    UsageError,
)
from pflow.core.file.file_name import show
from pflow.engine.ports import Record, RunInfo, Status

_FREED_PAGES = 8192


class SqliteJournal:
    """See `pflow.engine.ports.Journal`. `notices` tells what had to be put right with the file."""

    def __init__(self, path: Path, *, sync: str = "normal", cache_bytes: int = CACHE_BYTES) -> None:
        if sync not in ("normal", "full"):
            raise UsageError(f"`{show(sync)}` is no way to sync a journal", suggestions=["use `normal` or `full`"])
        self.path = path
        self._name = os.fspath(path)
        self.notices: list[str] = []
        self._owners = path.parent / "owners"
        self._full_sync = sync == "full"
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lease: Lease | None = None
        self._owned: dict[str, _Owned] = {}
        self._lost: set[str] = set()
        self._cache = Cache(cache_bytes)
        self._lock = threading.RLock()
        self._closed = False

    def create(self, run_id: str, workflow: str, started_at: float, records: Sequence[Record]) -> None:
        """Begin a run, owned by this journal."""
        with self._writing() as database:
            owner = self._owner()
            with transaction(database):
                try:
                    cursor = database.execute(
                        "INSERT INTO runs (run_id, workflow, status, started_at, owner) VALUES (?, ?, 'running', ?, ?)",
                        (run_id, workflow, started_at, owner),
                    )
                except sqlite3.IntegrityError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                        raise
                    raise ExistsError(f"there is already a run `{show(run_id)}`") from None
                key = cursor.lastrowid or 0
                insert(database, key, 0, records)
            self._owned[run_id] = _Owned(key, len(records))

    def claim(self, run_id: str) -> int:
        """Become the owner of an ended or orphaned run."""
        with self._writing() as database:
            owner = self._owner()
            with transaction(database):
                key, _, _, status, _, _, holder = find_run(database, run_id)
                if self._is_alive(holder):
                    advice = Advice("wait for it, or stop it with `{cancel_run}`", run=run_id)
                    raise ConflictError(f"run `{run_id}` is already running", suggestions=[advice])
                if status == "damaged":
                    raise _damaged(run_id)
                following = count_events(database, key)
                database.execute(
                    "UPDATE runs SET owner = ?, status = 'running', ended_at = NULL, cancel = 0 WHERE key = ?",
                    (owner, key),
                )
            self._owned[run_id] = _Owned(key, following)
            return following

    def append(self, run_id: str, seq: int, records: Sequence[Record], status: Status | None = None) -> None:
        """Store records from `seq` on, all or none."""
        with self._lock:
            owned, database, lease = self._owned.get(run_id), self._database, self._lease
            if database is not None and not database.in_transaction and self._is_moved():
                owned = None  # what is appended to a file that nobody finds again is not stored
            if owned is None or database is None or lease is None:
                raise self._not_ours(run_id)
            if seq != owned.following:
                raise ConflictError(f"run `{run_id}` goes on at event {owned.following}, not {seq}")
            ended = status is not None and status != "running"
            try:
                if ended or not append_plainly(database, owned.key, lease.owner, seq, records):
                    append_all(database, owned.key, lease.owner, seq, records, status if ended else None)
            except (sqlite3.IntegrityError, ConflictError):
                del self._owned[run_id]
                raise taken_over() from None
            except DATABASE_ERRORS as error:
                raise self._failed(error) from error
            owned.following += len(records)
            if ended:
                del self._owned[run_id]

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for several appends."""
        with self._writing() as database, transaction(database):
            yield

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on."""
        with self._reading() as database:
            key, _, _, status, *_ = find_run(database, run_id)
            try:
                rows = database.execute(
                    "SELECT id, kind, data FROM events WHERE id BETWEEN ? AND ? ORDER BY id",
                    event_ids(key, start),
                ).fetchall()
            except DATABASE_ERRORS as error:
                if not is_broken(error):
                    raise
                rows = [(None, None, None)]
            records = [Record(kind, data) for _, kind, data in rows]
            first = event_ids(key, start)[0]
            if status == "damaged" or any(
                event_id != expected or not isinstance(kind, str) or not isinstance(data, bytes)
                for expected, (event_id, kind, data) in enumerate(rows, first)
            ):
                self._mark_damaged(key)
                raise _damaged(run_id)
            return records

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run."""
        with self._reading() as database:
            key = find_run(database, run_id)[0]
            try:
                row = database.execute(
                    "SELECT data FROM run_values WHERE run = ? AND digest = ?", (key, digest)
                ).fetchone()
            except DATABASE_ERRORS as error:
                if not is_broken(error):
                    raise
                self._mark_damaged(key)
                raise _damaged(run_id) from None
            if row is None:
                raise NotFoundError(f"run `{run_id}` has no value `{show(digest)}`")
            return bytes(row[0])

    def info(self, run_id: str) -> RunInfo:
        """One run."""
        with self._reading() as database:
            return self._info(database, find_run(database, run_id))

    def runs(self, limit: int = 50) -> Sequence[RunInfo]:
        """The newest runs first."""
        with self._reading() as database:
            rows = database.execute(f"{SELECT} ORDER BY key DESC LIMIT ?", (limit,)).fetchall()
            return [self._info(database, row) for row in rows]

    def find(self, prefix: str) -> Sequence[str]:
        """Ids of runs that start with `prefix`, newest first."""
        with self._reading() as database:
            if not is_text(prefix):
                return []
            rows = database.execute(
                "SELECT run_id FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY key DESC",
                (prefix, prefix + "\U0010ffff"),
            ).fetchall()
            return [run_id for (run_id,) in rows]

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, in whatever process, to cancel the run."""
        with self._writing() as database:
            key = find_run(database, run_id)[0]
            database.execute("UPDATE runs SET cancel = 1 WHERE key = ? AND status = 'running'", (key,))

    def cancel_requests(self) -> frozenset[str]:
        """Runs of ours that someone asked to cancel."""
        with self._reading() as database:
            if self._lease is None:
                return frozenset()
            rows = database.execute(
                "SELECT run_id FROM runs WHERE cancel = 1 AND owner = ?", (self._lease.owner,)
            ).fetchall()
            return frozenset(run_id for (run_id,) in rows)

    def delete(self, runevent_ids: Iterable[str]) -> None:
        """Forget runs and their values; none of them if one is running."""
        with self._writing() as database:
            with transaction(database):
                for run_id in runevent_ids:
                    try:
                        key, _, _, _, _, _, holder = find_run(database, run_id)
                    except NotFoundError:
                        continue
                    if self._is_alive(holder):
                        raise ConflictError(f"run `{run_id}` is running and cannot be deleted")
                    database.execute("DELETE FROM events WHERE id BETWEEN ? AND ?", event_ids(key, 0))
                    database.execute("DELETE FROM run_values WHERE run = ?", (key,))
                    database.execute("DELETE FROM runs WHERE key = ?", (key,))
            # A step per page, and only a script takes more than the first.
            database.executescript(f"PRAGMA incremental_vacuum({_FREED_PAGES})")

    def cache_get(self, key: str) -> bytes | None:
        """What a pure step wrote for this key; nothing where the cache is damaged, which runs need not suffer from."""
        with self._reading() as database:
            try:
                return self._cache.get(database, key)
            except DATABASE_ERRORS as error:
                if not is_broken(error):
                    raise
                return None

    def cache_put(self, key: str, data: bytes) -> None:
        """Remember what a pure step wrote; what was not used for longest makes room."""
        with self._writing() as database:
            try:
                with transaction(database):
                    self._cache.put(database, key, data)
            except DATABASE_ERRORS as error:
                if not is_broken(error):
                    raise

    def close(self) -> None:
        """Let go of everything; runs still owned become orphans that can be claimed."""
        with self._lock:
            self._closed = True
            self._owned.clear()
            if self._database is not None:
                try:
                    if self._cache.has_news():
                        with transaction(self._database):
                            self._cache.flush(self._database)
                except DATABASE_ERRORS:
                    pass  # which entries were used is not worth a failure at the end
                self._database.close()
                self._database = None
            if self._lease is not None:
                self._lease.release()
                self._lease = None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._open()
            except DATABASE_ERRORS as error:
                raise self._failed(error) from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """The database as far as it can be read; a home without one is not given one by looking."""
        with self._lock:
            borrowed: sqlite3.Connection | None = None
            try:
                if self._database is None and not self._closed and not os.path.lexists(self.path):
                    database = borrowed = open_empty()
                else:
                    try:
                        database = self._open()
                    except StorageError:
                        if self._closed or not self.path.exists():
                            raise
                        database = borrowed = open_readonly(self.path)
                yield database
            except DATABASE_ERRORS as error:
                raise self._failed(error) from error
            finally:
                if borrowed is not None:
                    borrowed.close()

    def _open(self) -> sqlite3.Connection:
        if self._closed:
            raise StorageError("the journal is closed")
        if self._database is not None and not self._is_moved():
            return self._database
        self._database = open_database(self.path, self.notices, full_sync=self._full_sync)
        self._file = file_identity(self._name)
        return self._database

    def _is_moved(self) -> bool:
        """Whether our file is not the journal any more; then it is let go of, with the runs in it."""
        if self._file == file_identity(self._name):
            return False
        self.notices.append(f"the journal `{self.path}` was moved or deleted; a new one was begun")
        self._let_go()
        return True

    def _let_go(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None
        self._lost.update(self._owned)
        self._owned.clear()

    def _owner(self) -> str:
        if self._lease is None:
            self._lease = Lease(self._owners)
        return self._lease.owner

    def _is_alive(self, owner: object) -> bool:
        if owner is None:
            return False
        return (self._lease is not None and owner == self._lease.owner) or is_alive(self._owners, owner)

    def _info(self, database: sqlite3.Connection, row: Row) -> RunInfo:
        try:
            events: int | None = count_events(database, row[0])
        except DATABASE_ERRORS as error:
            if not is_broken(error):
                raise
            events = None
        return run_info(row, events, self._is_alive(row[-1]))

    def _mark_damaged(self, key: int) -> None:
        """Let lists show it too; not for a run that someone is still writing, nor at the price of an error."""
        try:
            with self._writing() as database:
                row = database.execute("SELECT owner FROM runs WHERE key = ?", (key,)).fetchone()
                if row and not self._is_alive(row[0]):
                    database.execute("UPDATE runs SET status = 'damaged', owner = NULL WHERE key = ?", (key,))
        except StorageError:
            return

    def _not_ours(self, run_id: str) -> PflowError:
        if self._closed:
            return StorageError("the journal is closed")
        if run_id in self._lost:
            return CorruptError(
                f"the journal `{self.path}` was moved, deleted or set aside under run `{run_id}`",
                details={"file": str(self.path), "run_id": run_id},
                suggestions=["the run ends here; what it has done is recorded where the journal is now, if anywhere"],
            )
        try:
            self.info(run_id)
        except NotFoundError as error:
            return error
        return ConflictError(f"run `{run_id}` does not belong to this process")

    def _failed(self, error: Exception) -> StorageError:
        if not is_broken(error):
            return sqlite_error(self.path, error)
        # Moved before it is closed, or SQLite would still write its log into it.
        corrupt = set_aside_database(self.path, self.notices)
        self._let_go()
        return corrupt


class _Owned:
    """A run of ours: its key, and the number of the event that comes next."""

    __slots__ = ("following", "key")

    def __init__(self, key: int, following: int) -> None:
        self.key = key
        self.following = following


def _damaged(run_id: str) -> DamagedError:
    return DamagedError(
        f"the journal of run `{run_id}` cannot be read to its end",
        suggestions=["start the workflow again; other runs are not affected"],
    )
