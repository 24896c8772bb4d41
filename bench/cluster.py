"""Many machines: what a step costs whose journal is in Postgres, beside one bare insert, and what workers do."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from pg8000.native import Connection

import dev_cluster
from bench import workers
from bench.floor import EVENT
from bench.flow import Bench, chain
from bench.row import Row
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.journal import PostgresJournal
from pflow.core.setting.place import Place, read_place
from pflow.engine.ports import Record

MANY, FEW = 400, 10
TRIES = 5
RECORDS = 500


def rows() -> list[Row]:
    if dev_cluster.postgres_programs() is None:
        print("there is no Postgres here; `cluster` is left out", file=sys.stderr)
        return []
    keeper = dev_cluster.Keeper()
    try:
        postgres = dev_cluster.Postgres(keeper)
        place = read_place("bench", {"bench": {"journal": f"{postgres.address}/postgres"}})
        PostgresDatabase(place, postgres.password).migrate()
        floor = insert_seconds(postgres)
        step = step_seconds(place, postgres.password)
        pooled = append_seconds(place._replace(pooler=True), postgres.password)
    finally:
        keeper.close()
    note = "floor: one insert with pg8000"
    return [
        Row(
            group="cluster",
            what="a no-op step on the Postgres journal, median",
            floor=floor,
            us=step,
            unit="s",
            rule="most",
            limit=1e-3,
            note=note,
        ),
        Row(
            group="cluster",
            what="an append in whole statements, as through a pooler, median",
            floor=floor,
            us=pooled,
            unit="s",
            rule="ratio",
            limit=3,
            note=note,
        ),
        *workers.rows(),
    ]


def insert_seconds(postgres: dev_cluster.Postgres) -> float:
    """One durable record: a prepared insert and its answer."""
    connection = Connection(
        *(dev_cluster.USER, "127.0.0.1", "postgres", postgres.port, postgres.password), ssl_context=False
    )
    connection.run("CREATE TABLE record (seq integer PRIMARY KEY, data bytea)")
    insert = connection.prepare("INSERT INTO record VALUES (:seq, :data)")
    times = []
    for seq in range(RECORDS):
        began = time.perf_counter()
        insert.run(seq=seq, data=EVENT)
        times.append(time.perf_counter() - began)
    connection.close()
    return statistics.median(times)


def step_seconds(place: Place, password: str) -> float:
    """What a step adds to a run of nothing but such steps."""
    found = []
    for _ in range(TRIES):
        journal = PostgresJournal(PostgresDatabase(place, password))
        with tempfile.TemporaryDirectory(prefix="pflow-bench-") as home:
            bench = Bench(Path(home), journal)
            few, many = (bench.plan(chain("nothing", count)) for count in (FEW, MANY))
            bench.cost(few)
            short = bench.cost(few).wall
            found.append((bench.cost(many).wall - short) / (MANY - FEW))
        journal.close()
    return statistics.median(found)


def append_seconds(place: Place, password: str) -> float:
    """An append of one record by an owner with a ticket."""
    journal = PostgresJournal(PostgresDatabase(place, password))
    journal.create("bench", "bench", 1.0, [], ticket=1)
    times = []
    for seq in range(RECORDS):
        began = time.perf_counter()
        journal.append("bench", seq, [Record("StepCompleted", EVENT)])
        times.append(time.perf_counter() - began)
    journal.close()
    return statistics.median(times)
