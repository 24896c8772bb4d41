"""Puts a run that has ended elsewhere into the journal, whole or not at all, as it was."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.row import RECORDS, records_of
from pflow.adapters.postgres.text import to_stored
from pflow.engine.ports import Mail, Record, RunInfo

_RESTORE = f"""WITH ours AS (
    INSERT INTO pflow.runs (run_id, workflow, started_at, status, ended_at, next, delivered)
    VALUES ($6, $7, $8::float8, $9, $10::float8, cardinality($3::text[]), $11::integer)
    ON CONFLICT DO NOTHING RETURNING key),
{RECORDS}"""

_MAIL = """INSERT INTO pflow.inbox (run, number, key, data, sender, via, at)
VALUES ($1::bigint, $2::integer, $3, $4::bytea, $5, $6, $7::float8)"""


def restore(database: PostgresDatabase, info: RunInfo, records: Sequence[Record], mail: Sequence[Mail]) -> bool:
    """Store an ended run with its large values; False if there is a run of its id."""
    with database.transaction() as session:
        names = (to_stored(info.run_id), to_stored(info.workflow))
        about = (info.started_at, info.status, info.ended_at, len(mail))
        made = session.rows(_RESTORE, *records_of(records, 0), *names, *about)
        if not made:
            return False
        [[key]] = made
        for number, one in enumerate(mail, 1):
            texts = [to_stored(text) for text in (one.key, one.by, one.via)]
            session.rows(_MAIL, str(key), number, texts[0], one.data, *texts[1:], float(one.at))
    return True
