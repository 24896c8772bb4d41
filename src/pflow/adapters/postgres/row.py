"""The statements about runs, and their rows as values; does not know sessions.

Each is one statement, so that it is a transaction of its own. What decides stands in the row of the run, which the
statement locks: Postgres looks at that row again if somebody else changed it meanwhile, but not at other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from pflow.adapters.postgres.session import Row, Value
from pflow.adapters.postgres.text import from_stored, to_stored
from pflow.core.errors import DamagedError
from pflow.core.printable import is_text
from pflow.engine.ports import Mail, Record, RunInfo, RunQuery, Status

_STATUSES: dict[object, Status] = {status: status for status in get_args(Status)}

_LIVING = """SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND mode = 'ExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_ALIVE = f"(owner IS NOT NULL AND (leased OR owner IN ({_LIVING})))"
"""Whether a run has an owner who lives: one by ticket always does."""

RECORDS = """kept AS (
    INSERT INTO pflow.run_values (run, digest, data)
    SELECT ours.key, one.digest, one.data
    FROM ours, unnest($1::text[], $2::bytea[]) AS one (digest, data) ON CONFLICT DO NOTHING),
stored AS (
    INSERT INTO pflow.events (run, seq, kind, data)
    SELECT ours.key, $5::integer + one.place - 1, one.kind, one.data
    FROM ours, unnest($3::text[], $4::bytea[]) WITH ORDINALITY AS one (kind, data, place))
SELECT key FROM ours"""

CREATE = f"""WITH ours AS (
    INSERT INTO pflow.runs (run_id, workflow, started_at, owner, ticket, leased, next)
    VALUES ($6, $7, $8::float8, $9::bigint, $10::bigint, $10::bigint > 0, cardinality($3::text[]))
    ON CONFLICT DO NOTHING RETURNING key),
{RECORDS}"""

APPEND = f"""WITH ours AS (
    UPDATE pflow.runs SET next = next + cardinality($3::text[])
    WHERE key = $6::bigint AND owner = $7::bigint AND next = $5::integer RETURNING key),
{RECORDS}"""

REST = f"""WITH ours AS (
    UPDATE pflow.runs SET next = next + cardinality($3::text[]), status = $8, owner = NULL, leased = false,
        cancel = cancel AND $8 = 'waiting', wake_at = $9::float8,
        mail = delivered > $10::integer OR cancel AND $8 = 'waiting',
        ended_at = CASE WHEN $8 <> 'waiting' THEN extract(epoch FROM clock_timestamp())::float8 END
    WHERE key = $6::bigint AND owner = $7::bigint AND next = $5::integer RETURNING key),
{RECORDS}"""
"""An append that ends the ownership. The server's clock says when, as the machines may differ."""

CLAIM = f"""UPDATE pflow.runs SET owner = $2::bigint, leased = $3::bigint > 0, ticket = greatest(ticket, $3::bigint),
    status = 'running', ended_at = NULL, cancel = cancel AND (status = 'waiting' OR $3::bigint > 0),
    wake_at = NULL, mail = false
WHERE run_id = $1 AND status <> 'damaged' AND CASE WHEN $3::bigint > 0
    THEN ticket < $3::bigint OR (ticket = $3::bigint AND owner IS NULL) ELSE NOT {_ALIVE} END
RETURNING key, next"""

OWNERSHIP = "SELECT owner, next, status FROM pflow.runs WHERE key = $1::bigint"

READ = """SELECT runs.next, events.seq, events.kind, events.data FROM pflow.runs
LEFT JOIN pflow.events ON events.run = runs.key AND events.seq >= $2::integer
WHERE runs.run_id = $1 ORDER BY events.seq"""

READ_FIRST = f"{READ.replace('$2::integer', '0')} LIMIT $2::integer"
"""Without a number it finds all."""

VALUE = """SELECT run_values.data FROM pflow.runs
LEFT JOIN pflow.run_values ON run_values.run = runs.key AND run_values.digest = $2 WHERE runs.run_id = $1"""

_FIELDS = f"key, run_id, workflow, status, started_at, ended_at, next, {_ALIVE}, wake_at, mail, ticket"
INFO = f"SELECT {_FIELDS} FROM pflow.runs WHERE run_id = $1"
LOCKED = f"SELECT {_FIELDS} FROM pflow.runs WHERE run_id = ANY($1::text[]) ORDER BY key FOR UPDATE"

REQUEST_CANCEL = """UPDATE pflow.runs SET cancel = status IN ('running', 'waiting'), mail = mail OR status = 'waiting'
WHERE run_id = $1 RETURNING key"""
CANCEL_REQUESTS = """UPDATE pflow.runs SET cancel = false
WHERE cancel AND owner = $1::bigint AND run_id = ANY($2::text[]) RETURNING run_id"""

LOCK_FOR_MAIL = "SELECT key, status FROM pflow.runs WHERE run_id = $1 FOR UPDATE"
PUT_MAIL = """WITH put AS (
    INSERT INTO pflow.inbox (run, number, key, data, sender, via, at)
    SELECT runs.key, delivered + 1, $2, $3::bytea, $4, $5, $6::float8 FROM pflow.runs WHERE runs.key = $1::bigint
    ON CONFLICT DO NOTHING RETURNING run)
UPDATE pflow.runs SET delivered = delivered + 1, mail = true FROM put WHERE runs.key = put.run RETURNING runs.key"""
READ_MAIL = """SELECT inbox.key, inbox.data, inbox.sender, inbox.via, inbox.at FROM pflow.runs
LEFT JOIN pflow.inbox ON inbox.run = runs.key AND inbox.number > $2::integer
WHERE runs.run_id = $1 ORDER BY inbox.number"""

DELETE = (
    "DELETE FROM pflow.inbox WHERE run = ANY($1::bigint[])",
    "DELETE FROM pflow.run_values WHERE run = ANY($1::bigint[])",
    "DELETE FROM pflow.events WHERE run = ANY($1::bigint[])",
    "DELETE FROM pflow.runs WHERE key = ANY($1::bigint[])",
)

OLD = """SELECT run_id FROM pflow.runs WHERE status IN ('completed', 'failed', 'stopped', 'cancelled')
AND ended_at < extract(epoch FROM clock_timestamp())::float8 - $1::float8 ORDER BY key LIMIT $2::bigint"""
"""Runs that ended so many seconds ago, by the server's clock, the oldest first."""

VERSION = "SELECT pg_current_snapshot()::text"
"""Changes when a transaction begins to write, and again when it commits: also one of other databases of the server."""


class Found(NamedTuple):
    """A run of a list: its place in the order of runs, what is told of it, and its last event if that was asked for."""

    key: int
    info: RunInfo
    last: Record | None = None


def records_of(records: Sequence[Record], seq: int) -> tuple[Value, ...]:
    """The first five values of `CREATE`, `APPEND` and `REST`."""
    values = {digest: data for record in records for digest, data in record.values}
    kinds = [to_stored(record.kind) for record in records]
    return [to_stored(one) for one in values], [*values.values()], kinds, [record.data for record in records], seq


def select_runs(query: RunQuery, before: int | None, limit: int | None) -> tuple[str, list[Value]] | None:
    """The statement for the newest runs that a query asks for, its text left out; None if there can be none."""
    tests: list[tuple[str, Value]] = []
    names = (query.workflow, query.prefix, query.text)
    if not all(is_text(name) for name in names if name):
        return None
    if query.workflow is not None:
        tests.append(("workflow = {}", to_stored(query.workflow)))
    if query.status is not None:
        tests.append(("status = {}", query.status))
    if query.prefix:
        prefix = to_stored(query.prefix)
        tests += [("run_id >= {}", prefix), ("run_id < {}", prefix + "\U0010ffff")]
    if query.due is not None:
        tests.append(("status = 'waiting' AND (mail OR wake_at <= {}::float8)", query.due))
    if before is not None:
        tests.append(("key < {}::bigint", before))
    where = " AND ".join(test.format(f"${number}") for number, (test, _) in enumerate(tests, 1)) or "true"
    last, join = "", ""
    if query.text:
        last = ", last.kind, last.data"
        join = """LEFT JOIN LATERAL (SELECT kind, data FROM pflow.events WHERE run = runs.key
            ORDER BY seq DESC LIMIT 1) AS last ON true"""
    statement = f"SELECT {_FIELDS}{last} FROM pflow.runs {join} WHERE {where} ORDER BY key DESC"
    values: list[Value] = [value for _, value in tests]
    if limit is not None:
        return f"{statement} LIMIT ${len(values) + 1}::bigint", [*values, limit]
    return statement, values


def read_run(row: Row) -> Found:
    """A row with the fields of `INFO`, and perhaps the last event."""
    match row:
        case [
            int(key),
            str(run_id),
            str(workflow),
            str(status),
            float(started_at),
            float() | None as ended_at,
            int(events),
            bool(alive),
            float() | None as wake_at,
            bool(mail),
            int(ticket),
            *last,
        ]:
            info = RunInfo(
                run_id=from_stored(run_id),
                workflow=from_stored(workflow),
                status=_STATUSES.get(status, "damaged"),
                started_at=started_at,
                ended_at=ended_at,
                events=events,
                alive=alive,
                wake_at=wake_at,
                has_mail=mail,
                ticket=ticket,
            )
            return Found(key, info, read_record(*last) if last and last[0] is not None else None)
    raise DamagedError("the journal holds a run that cannot be read")


def read_record(kind: object, data: object) -> Record:
    """An event of a row."""
    if isinstance(kind, str) and isinstance(data, bytes):
        return Record(from_stored(kind), data)
    raise DamagedError("the journal holds an event that cannot be read")


def read_mail(row: Row) -> Mail:
    """Something that was delivered."""
    match row:
        case [str(key), bytes(data), str(sender), str(via), float(at)]:
            return Mail(key=from_stored(key), data=data, by=from_stored(sender), via=from_stored(via), at=at)
    raise DamagedError("the journal holds mail that cannot be read")
