"""Reads and writes the rows of one run in the journal's database; does not know which owners live, nor about files."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, get_args

from pflow.core.advice import Advice
from pflow.core.errors import ConflictError, NotFoundError
from pflow.core.file.file_name import show
from pflow.core.printable import is_text
from pflow.engine.ports import Mail, Record, RunInfo, RunQuery, Status

_STATUSES: dict[object, Status] = {status: status for status in get_args(Status)}
_SEQ_BITS = 32
_LAST_SEQ = (1 << _SEQ_BITS) - 1
_ONE_STATEMENT = 16
"""Events that one statement stores, at most."""

Row = tuple[int, object, object, object, object, object, object, object, object, object, object]
"""Of a run: key, run_id, workflow, status, started_at, ended_at, owner, wake_at, mail, leased, ticket."""

SELECT = "SELECT key, run_id, workflow, status, started_at, ended_at, owner, wake_at, mail, leased, ticket FROM runs"


def _statement(count: int) -> str:
    # Without the owner there is no number for the first event, which fails the whole statement. Joining with
    # the row of the run would say the same more plainly and takes half as long again.
    first = "(CASE WHEN (SELECT owner FROM runs WHERE key = ?) = ? THEN ? ELSE 'lost' END, ?, ?)"
    return f"INSERT INTO events VALUES {', '.join([first, *['(?, ?, ?)'] * (count - 1)])}"


_INSERTS = [_statement(count) for count in range(1, _ONE_STATEMENT + 1)]


def append_plainly(database: sqlite3.Connection, key: int, owner: str, seq: int, records: Sequence[Record]) -> bool:
    """Store a few events without large values in one statement that checks the owner, too.

    It is its own transaction and costs half of one that is spelled out. False if the records need more; an
    `IntegrityError` if the run is not the owner's any more.
    """
    count = len(records)
    if not 0 < count <= _ONE_STATEMENT:
        return False
    event_id = key << _SEQ_BITS | seq
    params: list[object] = [key, owner]
    for record in records:
        if record.values:
            return False
        params += (event_id, record.kind, record.data)
        event_id += 1
    database.execute(_INSERTS[count - 1], params)
    return True


class Rest(NamedTuple):
    """How an owner leaves a run: its status, when it can go on by itself, and how much of its mail was taken."""

    status: str
    wake_at: float | None = None
    seen_mail: int = 0


def append_all(
    database: sqlite3.Connection, key: int, owner: str, seq: int, records: Sequence[Record], rest: Rest | None
) -> None:
    """Store any events with their values, and leave the run to rest, if it is still the owner's."""
    with transaction(database):
        if not database.execute("SELECT 1 FROM runs WHERE key = ? AND owner = ?", (key, owner)).fetchone():
            raise taken_over()
        insert(database, key, seq, records)
        if rest is not None:
            waits = rest.status == "waiting"
            ended_at = None if waits else time.time()
            database.execute(
                "UPDATE runs SET status = ?, ended_at = ?, owner = NULL, cancel = cancel AND ?, wake_at = ?, "
                "mail = (SELECT count(*) FROM inbox WHERE run = ?) > ? OR cancel AND ? WHERE key = ?",
                (rest.status, ended_at, waits, rest.wake_at, key, rest.seen_mail, waits, key),
            )


def taken_over() -> ConflictError:
    """Only after someone removed our lease by hand can a run of ours get another owner."""
    return ConflictError("another process took the run over")


def insert(database: sqlite3.Connection, key: int, seq: int, records: Sequence[Record]) -> None:
    """Store events and their large values, inside a transaction of the caller."""
    for record in records:
        for digest, data in record.values:
            database.execute(
                "INSERT OR IGNORE INTO run_values (run, digest, data) VALUES (?, ?, ?)", (key, digest, data)
            )
    database.executemany(
        "INSERT INTO events VALUES (?, ?, ?)",
        [(event_id, record.kind, record.data) for event_id, record in enumerate(records, key << _SEQ_BITS | seq)],
    )


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with no other writer meanwhile. One inside another is a part of it that can fail alone."""
    nested: bool = database.in_transaction
    database.execute("SAVEPOINT part" if nested else "BEGIN IMMEDIATE")
    try:
        yield
        database.execute("RELEASE part" if nested else "COMMIT")
    except BaseException:  # undone, and raised again
        if database.in_transaction:
            database.execute("ROLLBACK TO part" if nested else "ROLLBACK")
        raise


def select_runs(database: sqlite3.Connection, query: RunQuery, before: int | None) -> list[Row]:
    """The rows that a query asks for, newest first; its text is for the caller to look for, and its limit then too."""
    tests: list[tuple[str, object]] = []
    if query.workflow is not None:
        tests.append(("workflow = ?", query.workflow))
    if query.status is not None:
        tests.append(("status = ?", query.status))
    if query.prefix:
        tests += [("run_id >= ?", query.prefix), ("run_id < ?", query.prefix + "\U0010ffff")]
    if query.due is not None:
        tests.append(("status = 'waiting' AND (mail = 1 OR wake_at <= ?)", query.due))
    if before is not None:
        tests.append(("key < ?", before))
    where = f" WHERE {' AND '.join(test for test, _ in tests)}" if tests else ""
    limit = -1 if query.text or query.limit is None else query.limit
    params = [*(value for _, value in tests), limit]
    return database.execute(f"{SELECT}{where} ORDER BY key DESC LIMIT ?", params).fetchall()


def put_mail(database: sqlite3.Connection, run_id: str, mail: Mail) -> bool:
    """Store something for a run, unless there is something under its key, or the run is over for good."""
    with transaction(database):
        key, _, _, status, *_ = find_run(database, run_id)
        if status in ("completed", "cancelled"):
            return False
        stored = database.execute(
            "INSERT OR IGNORE INTO inbox (run, key, data, sender, via, at) VALUES (?, ?, ?, ?, ?, ?)",
            (key, mail.key, mail.data, mail.by, mail.via, mail.at),
        ).rowcount
        if stored:
            database.execute("UPDATE runs SET mail = 1 WHERE key = ?", (key,))
        return bool(stored)


def read_mail(database: sqlite3.Connection, run_id: str, start: int) -> list[Mail]:
    """What was delivered to a run, in that order."""
    statement = "SELECT key, data, sender, via, at FROM inbox WHERE run = ? ORDER BY id LIMIT -1 OFFSET ?"
    rows = database.execute(statement, (find_run(database, run_id)[0], start))
    return [Mail(key=key, data=bytes(data), by=sender, via=via, at=at) for key, data, sender, via, at in rows]


def last_record(database: sqlite3.Connection, key: int) -> Record | None:
    """The last event of a run; None if there is none that can be read."""
    row = database.execute(
        "SELECT kind, data FROM events WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1", event_ids(key, 0)
    ).fetchone()
    return Record(*row) if row and isinstance(row[0], str) and isinstance(row[1], bytes) else None


def find_run(database: sqlite3.Connection, run_id: str) -> Row:
    """The row of a run; raises `NotFoundError`."""
    row: Row | None = None
    if is_text(run_id):
        row = database.execute(f"{SELECT} WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no run `{show(run_id)}`", suggestions=[Advice("`{list_runs}` shows the latest")])
    return row


def run_info(row: Row, events: int | None, alive: bool) -> RunInfo:
    """A run as a list shows it; what cannot be read of it makes it a damaged one, not the list."""
    _, run_id, workflow, status, started_at, ended_at, _, wake_at, mail, _, ticket = row
    sound = events is not None and isinstance(workflow, str) and isinstance(started_at, float)
    return RunInfo(
        run_id=str(run_id),
        workflow=str(workflow),
        status=_STATUSES.get(status, "damaged") if sound else "damaged",
        started_at=started_at if isinstance(started_at, float) else 0.0,
        ended_at=ended_at if isinstance(ended_at, float) else None,
        events=events or 0,
        alive=alive,
        wake_at=wake_at if isinstance(wake_at, float) else None,
        has_mail=mail == 1,
        ticket=ticket if isinstance(ticket, int) else 0,
    )


def event_ids(key: int, start: int) -> tuple[int, int]:
    """The ids of a run's events, from one on: the first and the last that there could be."""
    return key << _SEQ_BITS | max(start, 0), key << _SEQ_BITS | _LAST_SEQ


def sound_records(database: sqlite3.Connection, key: int) -> Iterator[Record]:
    """The records of a run before the first that is missing or is not one."""
    first, last = event_ids(key, 0)
    statement = "SELECT id, kind, data FROM events WHERE id BETWEEN ? AND ? ORDER BY id"
    for expected, (event_id, kind, data) in enumerate(database.execute(statement, (first, last)), first):
        if event_id != expected or not isinstance(kind, str) or not isinstance(data, bytes):
            return
        yield Record(kind, data)


def count_events(database: sqlite3.Connection, key: int) -> int:
    """How many events a run has, which is the number of the next one."""
    last = database.execute("SELECT max(id) FROM events WHERE id BETWEEN ? AND ?", event_ids(key, 0)).fetchone()[0]
    return 0 if last is None else (last & _LAST_SEQ) + 1
