"""The journal of many machines, in Postgres: the same events as on one, fenced by owner, number and ticket.

An owner is a random number. Without a ticket it lives while its session holds the advisory lock of that number, which
the server frees with the session. With one, whoever hands out tickets decides who has the run, and no session matters:
a pooler may lend another one for each transaction.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice, takewhile

from pflow.adapters.postgres import row as rows
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.session import Session, SessionError, Value
from pflow.adapters.postgres.text import from_stored, to_stored
from pflow.core.advice import Advice
from pflow.core.errors import ConflictError, DamagedError, ExistsError, NotFoundError, StorageError, UsageError
from pflow.core.file.file_name import show
from pflow.core.printable import is_text
from pflow.engine.codec import mentions
from pflow.engine.ports import ALL_RUNS, Mail, Record, RunInfo, RunQuery, StateStore, Status

_PAGE = 500
"""Runs that are looked at for a text at once."""

_KEEPALIVE = "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
"""So that the server notices within half a minute that the machine of a session is gone, and frees its locks."""

_RESENT = 2
"""How often an append is sent again whose answer was lost."""


class PostgresJournal:
    """See `pflow.engine.ports.Journal`.

    Several can be `shared` views of a database, which outlives them; each is an owner of its own. A `ticket` is what a
    view comes with where its callers name none: one view for each time that a run is handed out.
    """

    def __init__(self, database: PostgresDatabase, *, shared: bool = False, ticket: int = 0) -> None:
        self.database = database
        self._shared = shared
        self._ticket = ticket
        self.notices: list[str] = []
        self._owner = _new_owner()
        self._is_locked = False
        self._owned: dict[str, _Owned] = {}
        self._is_closed = False
        database.on_open.append(self._lock_again)

    @cached_property
    def states(self) -> StateStore:
        """What workflows keep, in the same database."""
        from pflow.adapters.postgres.state import PostgresStates  # lazy: few workflows keep something

        return PostgresStates(self.database, self._check_open)

    def create(
        self, run_id: str, workflow: str, started_at: float, records: Sequence[Record], *, ticket: int = 0
    ) -> None:
        """Begin a run, owned by this journal."""
        ticket = ticket or self._ticket
        with self._using() as session:
            self._need_lock(session, ticket)
            names = (to_stored(run_id), to_stored(workflow))
            made = session.often(
                rows.CREATE, *rows.records_of(records, 0), *names, float(started_at), self._owner, ticket
            )
        if not made:
            raise ExistsError(f"there is already a run `{show(run_id)}`")
        self._owned[run_id] = _Owned(_int(made[0][0]), len(records))

    def claim(self, run_id: str, ticket: int = 0) -> int:
        """Become the owner of an ended or orphaned run, or, with a higher ticket, of any."""
        ticket = ticket or self._ticket
        with self._using() as session:
            self._need_lock(session, ticket)
            found = self._named(session, rows.CLAIM, run_id, self._owner, ticket)
        if not found:
            info = self.info(run_id)
            if info.status == "damaged" and not info.alive:
                raise _damaged(run_id)
            if ticket and not info.alive:
                raise ConflictError(f"ticket {ticket} of run `{run_id}` is late: others were handed out since")
            advice = Advice("wait for it, or stop it with `{cancel_run}`", run=run_id)
            raise ConflictError(f"run `{run_id}` is already running", suggestions=[advice])
        key, following = map(_int, found[0])
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
        with self.database.lock:
            self._check_open()
            owned = self._owned.get(run_id)
            if owned is None:
                self.info(run_id)
                raise ConflictError(f"run `{run_id}` does not belong to this process")
            if seq != owned.following:
                raise ConflictError(f"run `{run_id}` goes on at event {owned.following}, not {seq}")
            values = (*rows.records_of(records, seq), owned.key, self._owner)
            statement, ends = rows.APPEND, status is not None and status != "running"
            if status is not None and ends:
                statement, values = rows.REST, (*values, status, wake_at, seen_mail)
            ended = status if ends else None
            if not self._put(statement, values, owned, len(records), ended):
                del self._owned[run_id]
                raise ConflictError("another process took the run over")
            owned.following += len(records)
            if ends:
                del self._owned[run_id]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make what is appended inside durable at once."""
        self._check_open()
        owned = {run_id: _Owned(one.key, one.following) for run_id, one in self._owned.items()}
        try:
            with self.database.transaction():
                yield
        except BaseException:  # undone, and raised again
            self._owned = owned  # as it was: nothing of it is stored
            raise

    def read(self, run_id: str, start: int = 0) -> Sequence[Record]:
        """The run's records from `start` on."""
        start = max(start, 0)
        with self._using() as session:
            found = self._named(session, rows.READ, run_id, start)
        if not found:
            raise _missing(run_id)
        following = _int(found[0][0])
        events = [row for row in found if row[1] is not None]
        if [row[1] for row in events] != list(range(start, following)):
            raise _damaged(run_id)
        return [rows.read_record(kind, data) for _, _, kind, data in events]

    def read_sound(self, run_id: str, limit: int | None = None) -> Sequence[Record]:
        """The records before the first that cannot be read."""
        with self._using() as session:
            found = self._named(session, rows.READ_FIRST, run_id, limit)
        if not found:
            raise _missing(run_id)
        sound = takewhile(lambda numbered: numbered[1][1] == numbered[0], enumerate(found))
        return [rows.read_record(kind, data) for _, (_, _, kind, data) in sound]

    def value(self, run_id: str, digest: str) -> bytes:
        """A large value of the run."""
        with self._using() as session:
            found = self._named(session, rows.VALUE, run_id, to_stored(digest))
        match found:
            case []:
                raise _missing(run_id)
            case [[bytes(data)], *_]:
                return data
        raise NotFoundError(f"run `{run_id}` has no value `{show(digest)}`")

    def info(self, run_id: str) -> RunInfo:
        """One run."""
        return self._find(run_id).info

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[RunInfo]:
        """The runs that `query` asks for, newest first."""
        before = None if query.before is None else self._find(query.before).key
        if not query.text:
            return [found.info for found in self._select(query, before, query.limit)]
        return list(islice(self._mentioning(query, before), query.limit))

    def version(self) -> str:
        """A string that changes whenever something was stored."""
        with self._using() as session:
            return str(session.often(rows.VERSION)[0][0])

    def request_cancel(self, run_id: str) -> None:
        """Ask the owner, or whoever takes it up next, to cancel the run."""
        with self._using() as session:
            if not self._named(session, rows.REQUEST_CANCEL, run_id):
                raise _missing(run_id)

    def cancel_requests(self, run_ids: Collection[str]) -> frozenset[str]:
        """Those of these runs of ours that were asked to be cancelled."""
        with self._using() as session:
            asked = [to_stored(run_id) for run_id in run_ids if run_id in self._owned]
            if not asked:
                return frozenset()
            found = session.often(rows.CANCEL_REQUESTS, self._owner, asked)
        return frozenset(from_stored(str(run_id)) for (run_id,) in found)

    def deliver(self, run_id: str, mail: Mail) -> bool:
        """Store something for a run, unless there is something under its key."""
        self._check_open()
        with self.database.transaction() as session:
            found = self._named(session, rows.LOCK_FOR_MAIL, run_id)
            if not found:
                raise _missing(run_id)
            key, status = _int(found[0][0]), found[0][1]
            if status in ("completed", "cancelled"):
                return False
            texts = [to_stored(text) for text in (mail.key, mail.by, mail.via)]
            return bool(session.rows(rows.PUT_MAIL, key, texts[0], mail.data, *texts[1:], float(mail.at)))

    def mail(self, run_id: str, start: int = 0) -> Sequence[Mail]:
        """What was delivered to a run."""
        with self._using() as session:
            found = self._named(session, rows.READ_MAIL, run_id, start)
        if not found:
            raise _missing(run_id)
        return [rows.read_mail(row) for row in found if row[0] is not None]

    def delete(self, run_ids: Iterable[str]) -> None:
        """Forget runs and their values; none of them if one is running or waiting."""
        self._check_open()
        names = [to_stored(run_id) for run_id in run_ids if is_text(run_id)]
        with self.database.transaction() as session:
            found = [rows.read_run(row) for row in session.rows(rows.LOCKED, names)]
            for _, info, _ in found:
                if info.alive or info.status == "waiting":
                    what = "waiting" if info.status == "waiting" else "running"
                    raise ConflictError(f"run `{info.run_id}` is {what} and cannot be deleted")
            for statement in rows.DELETE:
                session.rows(statement, [str(one.key) for one in found])

    def ended_before(self, seconds: float, limit: int) -> list[str]:
        """The runs that have ended so many seconds ago, the oldest first."""
        with self._using() as session:
            return [from_stored(str(run_id)) for (run_id,) in session.rows(rows.OLD, float(seconds), limit)]

    def close(self) -> None:
        """Release everything; runs still owned become orphans that can be claimed."""
        with self.database.lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._owned.clear()
            self.database.on_open.remove(self._lock_again)
            if self._is_locked and self.database.is_open:
                self._unlock()
            if not self._shared:
                self.database.close()

    # Sessions

    @contextmanager
    def _using(self) -> Iterator[Session]:
        self._check_open()
        with self.database.using() as session:
            yield session

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError("the journal is closed")

    def _need_lock(self, session: Session, ticket: int) -> None:
        """Have the lock of our number, by which others see that we live, unless we come with a ticket."""
        if ticket or self._is_locked:
            return
        if self.database.place.pooler:
            if self.database.in_transaction:  # nobody sees the run before it is at rest again
                return
            raise UsageError(
                f"runs on place `{self.database.place.name}` can only be driven by its workers: a pooler stands before "
                "its database"
            )
        session.script(_KEEPALIVE)
        session.rows("SELECT pg_advisory_lock($1::bigint)", self._owner)
        self._is_locked = True

    def _unlock(self) -> None:
        """Let others see that we are gone: the server notices the end of a session only some time after."""
        try:
            with self.database.using() as session:
                session.rows("SELECT pg_advisory_unlock($1::bigint)", self._owner)
        except StorageError:
            return  # then there is no session that could hold it

    def _lock_again(self, session: Session) -> None:
        """Take the lock in a new session. If the lost one still has it, its runs are left to it."""
        if not self._is_locked:
            return
        session.script(_KEEPALIVE)
        if session.rows("SELECT pg_try_advisory_lock($1::bigint)", self._owner) != [[True]]:
            self._owner, self._is_locked = _new_owner(), False
            self._owned.clear()

    # Runs

    def _put(self, statement: str, values: Sequence[Value], owned: _Owned, count: int, status: Status | None) -> bool:
        """Send an append. Where its answer is lost, the row of the run tells whether it was stored."""
        try:
            with self._using() as session:
                return bool(session.often(statement, *values))
        except StorageError as error:
            if self.database.in_transaction or not _is_lost(error):
                raise
        for _ in range(_RESENT):
            with self._using() as session:
                found = session.rows(rows.OWNERSHIP, owned.key)
                if not found:
                    return False
                owner, following, now = found[0]
                ours = owner == self._owner
                if following == owned.following + count and (ours if status is None else not owner and now == status):
                    return True
                if not ours or following != owned.following:
                    return False
                if session.often(statement, *values):
                    return True
        return False

    def _find(self, run_id: str) -> rows.Found:
        with self._using() as session:
            found = self._named(session, rows.INFO, run_id)
        if not found:
            raise _missing(run_id)
        return rows.read_run(found[0])

    def _select(self, query: RunQuery, before: int | None, limit: int | None) -> list[rows.Found]:
        selected = rows.select_runs(query, before, limit)
        with self._using() as session:
            return [] if selected is None else [rows.read_run(row) for row in session.rows(selected[0], *selected[1])]

    def _mentioning(self, query: RunQuery, before: int | None) -> Iterator[RunInfo]:
        while page := self._select(query, before, _PAGE):
            for _, info, last in page:
                if mentions(query.text, info.workflow, info.run_id, last=_known(last)):
                    yield info
            before = page[-1].key

    def _named(self, session: Session, statement: str, run_id: str, *values: Value) -> list[list[object]]:
        """What a statement finds whose first value is the id of a run."""
        return session.often(statement, to_stored(run_id), *values) if is_text(run_id) else []


class _Owned:
    """A run of ours: its key, and the number of the event that comes next."""

    __slots__ = ("following", "key")

    def __init__(self, key: int, following: int) -> None:
        self.key = key
        self.following = following


def _new_owner() -> int:
    return int.from_bytes(os.urandom(8)) >> 2


def _known(last: Record | None) -> Callable[[], Record | None]:
    return lambda: last


def _is_lost(error: StorageError) -> bool:
    return isinstance(error.__cause__, SessionError) and error.__cause__.lost


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise DamagedError("the journal holds a number that cannot be read")
    return value


def _missing(run_id: str) -> NotFoundError:
    return NotFoundError(f"there is no run `{show(run_id)}`", suggestions=[Advice("`{list_runs}` shows the latest")])


def _damaged(run_id: str) -> DamagedError:
    return DamagedError(
        f"the journal of run `{run_id}` cannot be read to its end",
        suggestions=["start the workflow again; other runs are not affected"],
    )
