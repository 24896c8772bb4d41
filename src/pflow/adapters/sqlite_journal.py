"""The durable journal: one SQLite file in WAL mode for all runs and processes of a home.

What was appended survives the death of the process at once. It survives a power cut at once with `sync="full"`,
else from the next checkpoint on. A run belongs to the process that holds the lease that its row names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path

from pflow.adapters.lease import Lease, is_alive
from pflow.adapters.sqlite_database import Database
from pflow.adapters.sqlite_file import DATABASE_ERRORS, unless_broken
from pflow.adapters.sqlite_row import (
    Rest,
    Row,
    append_all,
    append_plainly,
    count_events,
    event_ids,
    find_run,
    insert,
    last_record,
    put_mail,
    read_mail,
    run_info,
    select_runs,
    sound_records,
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
from pflow.core.printable import is_text
from pflow.engine.codec import mentions
from pflow.engine.ports import ALL_RUNS, Mail, Record, RunInfo, RunQuery, StateStore, Status

_FREED_PAGES = 8192


class SqliteJournal:
    """See `pflow.engine.ports.Journal`. `notices` tells what had to be put right with the file."""

    def __init__(self, path: Path, *, sync: str = "normal") -> None:
        if sync not in ("normal", "full"):
            raise UsageError(f"`{show(sync)}` is not a way to sync a journal", suggestions=["use `normal` or `full`"])
        self.path = path
        self.database = Database(path, full_sync=sync == "full", on_loss=self._lose_runs)
        self.notices = self.database.notices
        self._lock = self.database.lock
        self._owners = path.parent / "owners"
        self._lease: Lease | None = None
        self._owned: dict[str, _Owned] = {}
        self._lost: set[str] = set()

    @cached_property
    def states(self) -> StateStore:
        """What workflows keep, in the same file."""
        from pflow.adapters.sqlite_state import SqliteStates  # lazy: few workflows keep something

        return SqliteStates(self.database)

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        """Begin a run, owned by this journal."""
        with self.database.writing() as database:
            owner = self._owner()
            with transaction(database):
                try:
                    cursor = database.execute(
                        "INSERT INTO runs (run_id, workflow, status, started_at, owner, ticket, leased) "
                        "VALUES (?, ?, 'running', ?, ?, ?, ?)",
                        (run_id, workflow, started_at, owner, ticket, ticket > 0),
                    )
                except sqlite3.IntegrityError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                        raise
                    raise ExistsError(f"there is already a run `{show(run_id)}`") from None
                key = cursor.lastrowid or 0
                insert(database, key, 0, records)
            self._owned[run_id] = _Owned(key, len(records))

    def claim(self, run_id: str, ticket: int = 0) -> int:
        """Become the owner of an ended or orphaned run, or, with a higher ticket, of any."""
        with self.database.writing() as database:
            owner = self._owner()
            with transaction(database):
                row = find_run(database, run_id)
                key, status = row[0], row[3]
                if not self._admits(row, ticket):
                    advice = Advice("wait for it, or stop it with `{cancel_run}`", run=run_id)
                    raise ConflictError(f"run `{run_id}` is already running", suggestions=[advice])
                if status == "damaged":
                    raise _damaged(run_id)
                following = count_events(database, key)
                database.execute(
                    "UPDATE runs SET owner = ?, leased = ?, ticket = max(ticket, ?), status = 'running', "
                    "ended_at = NULL, cancel = cancel AND ?, wake_at = NULL, mail = 0 WHERE key = ?",
                    (owner, ticket > 0, ticket, ticket > 0 or status == "waiting", key),
                )
            self._owned[run_id] = _Owned(key, following)
            return following

    def append(
        self,
        run_id: str,
        seq: int,
        records: Sequence[Record],
        status: Status | None = None,
        *,
        wake_at: float | None = None,
        seen_mail: int = 0,
    ) -> None:
        """Store records from `seq` on, all or none."""
        with self._lock:
            owned, database, lease = self._owned.get(run_id), self.database.connection, self._lease
            if database is not None and not database.in_transaction and self.database.is_moved():
                owned = None  # what is appended to a file that cannot be found again is not stored
            if owned is None or database is None or lease is None:
                raise self._not_ours(run_id)
            if seq != owned.following:
                raise ConflictError(f"run `{run_id}` goes on at event {owned.following}, not {seq}")
            rest = Rest(status, wake_at, seen_mail) if status is not None and status != "running" else None
            try:
                if rest or not append_plainly(database, owned.key, lease.owner, seq, records):
                    append_all(database, owned.key, lease.owner, seq, records, rest)
            except (sqlite3.IntegrityError, ConflictError):
                del self._owned[run_id]
                raise taken_over() from None
            except DATABASE_ERRORS as error:
                raise self.database.failure(error) from error
            owned.following += len(records)
            if rest:
                del self._owned[run_id]

    @contextmanager
    def together(self) -> Iterator[None]:
        """One transaction for several appends."""
        with self.database.writing() as database, transaction(database):
            yield

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on."""
        with self.database.reading() as database:
            key, _, _, status, *_ = find_run(database, run_id)
            wanted = event_ids(key, start)
            statement = "SELECT id, kind, data FROM events WHERE id BETWEEN ? AND ? ORDER BY id"
            rows = unless_broken(lambda: database.execute(statement, wanted).fetchall(), None)
            if (
                rows is None
                or status == "damaged"
                or any(
                    event_id != expected or not isinstance(kind, str) or not isinstance(data, bytes)
                    for expected, (event_id, kind, data) in enumerate(rows, wanted[0])
                )
            ):
                self._mark_damaged(key)
                raise _damaged(run_id)
            return [Record(kind, data) for _, kind, data in rows]

    def read_sound(self, run_id: str, limit: int | None = None) -> Sequence[Record]:
        """The records before the first that cannot be read."""
        found: list[Record] = []
        with self.database.reading() as database:
            records = islice(sound_records(database, find_run(database, run_id)[0]), limit)
            while (record := unless_broken(lambda: next(records, None), None)) is not None:
                found.append(record)
        return found

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run."""
        with self.database.reading() as database:
            key = find_run(database, run_id)[0]
            statement = "SELECT data FROM run_values WHERE run = ? AND digest = ?"
            rows = unless_broken(lambda: database.execute(statement, (key, digest)).fetchall(), None)
            if rows is None:
                self._mark_damaged(key)
                raise _damaged(run_id)
            if not rows:
                raise NotFoundError(f"run `{run_id}` has no value `{show(digest)}`")
            return bytes(rows[0][0])

    def values(self, run_id: str) -> dict[str, bytes]:
        """All large values of the run, by hash."""
        with self.database.reading() as database:
            key = find_run(database, run_id)[0]
            return dict(database.execute("SELECT digest, data FROM run_values WHERE run = ?", (key,)).fetchall())

    def info(self, run_id: str) -> RunInfo:
        """One run."""
        with self.database.reading() as database:
            return self._info(database, find_run(database, run_id))

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[RunInfo]:
        """The runs that `query` asks for, newest first."""
        with self.database.reading() as database:
            before = None if query.before is None else find_run(database, query.before)[0]
            if not is_text(f"{query.workflow}{query.prefix}"):
                return []
            rows = select_runs(database, query, before)
            if query.text:
                rows = list(islice((row for row in rows if self._mentions(database, row, query.text)), query.limit))
            return [self._info(database, row) for row in rows]

    def version(self) -> str:
        """A string that changes whenever something was stored."""
        return self.database.version()

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, or whoever takes it up next, to cancel the run."""
        with self.database.writing() as database:
            key = find_run(database, run_id)[0]
            database.execute(
                "UPDATE runs SET cancel = 1, mail = mail OR status = 'waiting' "
                "WHERE key = ? AND status IN ('running', 'waiting')",
                (key,),
            )

    def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """Those of these runs of ours that were asked to be cancelled."""
        with self.database.reading() as database:
            if self._lease is None:
                return frozenset()
            owner = self._lease.owner
            rows = database.execute("SELECT run_id FROM runs WHERE cancel = 1 AND owner = ?", (owner,)).fetchall()
        asked = frozenset(run_id for (run_id,) in rows if run_id in run_ids)
        if asked:
            with self.database.writing() as database, transaction(database):
                statement = "UPDATE runs SET cancel = 0 WHERE run_id = ? AND owner = ?"
                database.executemany(statement, [(run_id, owner) for run_id in asked])
        return asked

    def deliver(self, run_id: str, mail: Mail) -> bool:
        """Store something for a run, unless there is something under its key."""
        with self.database.writing() as database:
            return put_mail(database, run_id, mail)

    def mail(self, run_id: str, start: int = 0) -> Sequence[Mail]:
        """What was delivered to a run."""
        with self.database.reading() as database:
            return read_mail(database, run_id, start)

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget runs and their values; none of them if one is running or waiting."""
        with self.database.writing() as database:
            with transaction(database):
                for run_id in run_ids:
                    try:
                        row = find_run(database, run_id)
                    except NotFoundError:
                        continue
                    key, status = row[0], row[3]
                    if self._has_owner(row) or status == "waiting":
                        what = "waiting" if status == "waiting" else "running"
                        raise ConflictError(f"run `{run_id}` is {what} and cannot be deleted")
                    database.execute("DELETE FROM inbox WHERE run = ?", (key,))
                    database.execute("DELETE FROM events WHERE id BETWEEN ? AND ?", event_ids(key, 0))
                    database.execute("DELETE FROM run_values WHERE run = ?", (key,))
                    database.execute("DELETE FROM runs WHERE key = ?", (key,))
            # A step per page, and only a script takes more than the first.
            database.executescript(f"PRAGMA incremental_vacuum({_FREED_PAGES})")

    def close(self) -> None:
        """Release everything; runs still owned become orphans that can be claimed."""
        with self._lock:
            self._owned.clear()
            self.database.close()
            if self._lease is not None:
                self._lease.release()
                self._lease = None

    def _lose_runs(self) -> None:
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

    def _has_owner(self, row: Row) -> bool:
        return bool(row[6] is not None and row[9]) or self._is_alive(row[6])

    def _admits(self, row: Row, ticket: int) -> bool:
        """Whether a ticket, or none, may take a run."""
        last = row[10] if isinstance(row[10], int) else 0
        if ticket:
            return ticket > last or (ticket == last and row[6] is None)
        return not self._has_owner(row)

    def _info(self, database: sqlite3.Connection, row: Row) -> RunInfo:
        events = unless_broken(lambda: count_events(database, row[0]), None)
        return run_info(row, events, self._has_owner(row))

    def _mentions(self, database: sqlite3.Connection, row: Row, text: str) -> bool:
        names = (str(row[2]), str(row[1]))
        return unless_broken(lambda: mentions(text, *names, last=lambda: last_record(database, row[0])), False)

    def _mark_damaged(self, key: int) -> None:
        """Let lists show it too, unless a process is still writing the run; an error here does not count."""
        try:
            with self.database.writing() as database:
                row = database.execute("SELECT owner FROM runs WHERE key = ?", (key,)).fetchone()
                if row and not self._is_alive(row[0]):
                    database.execute("UPDATE runs SET status = 'damaged', owner = NULL WHERE key = ?", (key,))
        except StorageError:
            return

    def _not_ours(self, run_id: str) -> PflowError:
        if self.database.is_closed:
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
