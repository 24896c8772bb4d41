"""Who works at a place: a row of each worker, written by itself while it lives, and what all workers sign with.

Nothing but advice depends on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.session import Row
from pflow.adapters.postgres.text import from_stored, to_stored
from pflow.core.errors import DamagedError
from pflow.core.frozen import Frozen

_GONE_LEASES = 3
"""For how many leases a worker need not be heard of until it counts as gone."""

_KEPT = "1 day"
"""For how long the row of a worker stays that ended without a word."""

_BEAT = "UPDATE pflow.workers SET beat_at = now() WHERE worker = $1 AND digest = $2 AND variables = $3 RETURNING 1"
"""Without what is large, which Postgres would otherwise write anew each time."""

_ENTER = """
INSERT INTO pflow.workers (worker, name, version, queue, slots, lease, digest, kinds, variables)
VALUES ($1, $4, $5, $6, $7::integer, $8::float8, $2, $9, $3)
ON CONFLICT (worker) DO UPDATE
SET digest = EXCLUDED.digest, kinds = EXCLUDED.kinds, variables = EXCLUDED.variables, beat_at = now()
"""

_READ = """
SELECT worker, name, version, queue, slots, lease, digest, kinds, variables,
       extract(epoch FROM started_at)::float8, extract(epoch FROM now() - beat_at)::float8
FROM pflow.workers ORDER BY queue, started_at, worker
"""

_KEY = "SELECT key FROM pflow.signing"

_SEAL = ""
"""Under which name the seal stands among the variables: none of them has it."""


class WorkerRow(Frozen):
    """A worker as it told about itself.

    `digest` stands for its `kinds`, the node types that it has with the hash of each definition ("" for what is built
    in). `variables` are the names of what it has for secret inputs, `seal` stands for its key.
    `beat_seconds` is how long ago it was heard of, by
    the clock of the database.
    """

    worker: str
    name: str
    version: str
    queue: str
    slots: int
    lease_seconds: float
    digest: str
    kinds: Mapping[str, str]
    variables: Sequence[str]
    seal: str = ""
    started_at: float = 0.0
    beat_seconds: float = 0.0

    @property
    def is_gone(self) -> bool:
        """Whether it was not heard of for too long."""
        return self.beat_seconds > self.lease_seconds * _GONE_LEASES


class Roster:
    """The rows of all workers of a place."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._key: bytes | None = None

    def beat(self, row: WorkerRow) -> None:
        """Say that a worker lives, and what it has, if that changed."""
        variables = to_stored(orjson.dumps({**dict.fromkeys(row.variables, ""), _SEAL: row.seal}).decode())
        with self._database.using() as session:
            if session.rows(_BEAT, row.worker, row.digest, variables):
                return
            session.rows(f"DELETE FROM pflow.workers WHERE beat_at < now() - interval '{_KEPT}'")
            session.rows(
                _ENTER,
                row.worker,
                row.digest,
                variables,
                to_stored(row.name),
                row.version,
                to_stored(row.queue),
                row.slots,
                float(row.lease_seconds),
                to_stored(orjson.dumps(row.kinds).decode()),
            )

    def key(self) -> bytes:
        """What all who drive runs of the place have in common: with it they sign questions."""
        if self._key is None:
            with self._database.using() as session:
                [[found]] = session.rows(_KEY)
            if not isinstance(found, bytes):
                raise DamagedError("the journal holds no key to sign questions with")
            self._key = found
        return self._key

    def leave(self, worker: str) -> None:
        """A worker takes no more runs."""
        with self._database.using() as session:
            session.rows("DELETE FROM pflow.workers WHERE worker = $1", worker)

    def read(self) -> list[WorkerRow]:
        """All workers, also those that seem to be gone."""
        with self._database.using() as session:
            return [_worker(row) for row in session.rows(_READ)]


def _worker(row: Row) -> WorkerRow:
    match row:
        case [
            str(worker),
            str(name),
            str(version),
            str(queue),
            int(slots),
            float(lease),
            str(digest),
            str(kinds),
            str(variables),
            float(started_at),
            float(beat_seconds),
        ]:
            has = _strings(variables)
            seal = has.pop(_SEAL, "")
            return WorkerRow(
                worker=worker,
                name=from_stored(name),
                version=version,
                queue=from_stored(queue),
                slots=slots,
                lease_seconds=lease,
                digest=digest,
                kinds=_strings(kinds),
                variables=list(has),
                seal=seal,
                started_at=started_at,
                beat_seconds=beat_seconds,
            )
    raise DamagedError(f"the journal holds a worker `{row[0]}` that cannot be read")


def _strings(text: str) -> dict[str, str]:
    """What a worker wrote; nothing of what another version may have written in another form."""
    try:
        found = orjson.loads(from_stored(text))
    except orjson.JSONDecodeError:
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
