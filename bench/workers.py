"""Workers at a place, each a process: how soon they take a run up, how much they drive, and how they take runs over."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import orjson
from pg8000.native import Connection

import dev_cluster
from bench.flow import chain, make_home
from bench.row import Row
from dev_place import NAME, Cluster, Worker
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.core.file.home import Home
from pflow.core.setting.place import read_place
from pflow.workspace import Workspace
from pflow.workspace.warm_workspace import WarmWorkspaces

LEASE = 3
COUNTS = (1, 2, 4)
STEPS = 20
RUNS, TRIES = 60, 4
LEAST_RATE, LEAST_RATE_WORKERS = 28, 2
SINGLE = 15
CLIENTS = 4
LOST = 4
LONG_STEP_SECONDS = 0.05
LONG_STEPS = 400
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.01

SHORT = chain("nothing", STEPS)
LONG = chain("wait", LONG_STEPS, {"seconds": LONG_STEP_SECONDS}, repeatable=True)


def rows() -> list[Row]:
    """All of them, at a place of their own whose database waits for the disk."""
    with Bed() as bed:
        bed.have_workers(COUNTS[0])
        bed.run_together(RUNS)  # what is loaded or prepared once
        dispatch = statistics.median(bed.dispatch_seconds() for _ in range(SINGLE))
        rates = {}
        for count in COUNTS:
            bed.have_workers(count)
            rates[count] = max(bed.run_together(RUNS) for _ in range(TRIES))
        recovery = statistics.median(bed.recovery_seconds())
    return [
        Row(
            group="cluster",
            what="submit → first step, idle worker, median",
            us=dispatch,
            unit="s",
            rule="most",
            limit=None,
        ),
        *(row for count, rate in rates.items() for row in _rate_rows(count, rate)),
        Row(
            group="cluster",
            what="kill -9 of a worker → next step of its run, median",
            floor=float(LEASE),
            us=recovery,
            unit="s",
            rule="ratio",
            limit=2.5,
            note="floor: the lease",
        ),
    ]


def _rate_rows(count: int, rate: float) -> list[Row]:
    workers = f"{count} worker{'s' * (count > 1)}"
    least = LEAST_RATE if count == LEAST_RATE_WORKERS else None
    return [
        Row(
            group="cluster",
            what=f"runs of {STEPS} steps, {workers}",
            us=rate,
            unit="runs/s",
            rule="least",
            limit=least,
            note="client, servers and workers share the cores",
        ),
        Row(
            group="cluster",
            what=f"their steps, {workers}",
            us=rate * STEPS,
            unit="steps/s",
            rule="least",
            limit=None if least is None else least * STEPS,
        ),
    ]


class Bed:
    """A place with a client, which begins runs as a server does that lives on, and any number of workers."""

    def __init__(self) -> None:
        self._cluster = cluster = Cluster([sys.executable, "-m", "pflow"], lease=LEASE)
        try:
            postgres = cluster.postgres
            self._connection = Connection(
                *(dev_cluster.USER, "127.0.0.1", "postgres", postgres.port, postgres.password), ssl_context=False
            )
            place = read_place(NAME, {NAME: {"journal": cluster.settings[f"on.{NAME}.journal"]}})
            PostgresDatabase(place, postgres.password).migrate()
            home = self._make_home("client")
            os.environ[dev_cluster.PASSWORD] = postgres.password
            self._client = WarmWorkspaces(home, on=NAME)
            self._workers: list[Worker] = []
        except BaseException:
            cluster.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._cluster.close()

    def have_workers(self, count: int) -> None:
        """Start as many as are missing, each with a home of its own."""
        while len(self._workers) < count:
            home = self._make_home(f"machine-{len(self._workers) + 1}")
            self._workers.append(self._cluster.start_worker(home.root))
        until(lambda: all(worker.is_ready() for worker in self._workers), "the workers")

    def submit(self, document: Mapping[str, object]) -> str:
        """Have a document run; the id of the run."""
        workspace = self._client.open()
        run = workspace.begin(document)
        workspace.detach(run)
        return run.run_id

    def dispatch_seconds(self) -> float:
        """From before a run is checked and recorded until its first step begins, when there is nothing else to do."""
        began = time.time()
        run_id = self.submit(SHORT)
        until(lambda: self._count("completed", [run_id]) == 1, "the end of a run")
        return self._steps(run_id)[0] - began

    def run_together(self, count: int) -> float:
        """Begin so many runs at once, and wait until all have ended; how many that makes in a second."""
        began = time.time()
        with ThreadPoolExecutor(CLIENTS) as clients:
            ids = list(clients.map(lambda _: self.submit(SHORT), range(count)))
        until(lambda: self._count("completed", ids) == count, "the end of all runs")
        [[ended]] = self._ask("SELECT max(ended_at) FROM pflow.runs")
        return count / (float(ended) - began)

    def recovery_seconds(self) -> list[float]:
        """Kill all workers but one, each while it drives runs: for each of these, until its next step begins."""
        return [seconds for worker in self._workers[1:] for seconds in self._lose(worker)]

    def _lose(self, worker: Worker) -> list[float]:
        ids = [self.submit(LONG) for _ in range(LOST * len(self._workers))]
        until(lambda: all(len(self._steps(one)) > 1 for one in ids), "the first steps")
        lost = [one for one in ids if f"{one}: taken up" in worker.said]
        worker.end(signal.SIGKILL)
        killed = time.time()
        until(lambda: all(self._steps(one)[-1] > killed for one in lost), "the next steps")
        found = [next(at for at in self._steps(one) if at > killed) - killed for one in lost]
        for one in ids:
            self._client.open().cancel(one)
        until(lambda: self._count("cancelled", ids) == len(ids), "the end of cancelled runs")
        return found

    def _make_home(self, name: str) -> Home:
        home = make_home(self._cluster.keeper.folder / name)
        with Workspace(home) as workspace:
            for option, value in self._cluster.settings.items():
                workspace.set_setting(option, value)
        return home

    def _count(self, status: str, ids: Sequence[str]) -> int:
        """How many of these runs stand like that."""
        statement = "SELECT count(*) FROM pflow.runs WHERE status = :status AND run_id = ANY(:ids)"
        [[count]] = self._ask(statement, status=status, ids=list(ids))
        return int(count)

    def _steps(self, run_id: str) -> list[float]:
        """When each step of a run began, so far."""
        statement = """SELECT data FROM pflow.runs JOIN pflow.events ON run = runs.key
            WHERE run_id = :run AND kind = 'StepStarted' ORDER BY seq"""
        return [orjson.loads(data)["at"] for (data,) in self._ask(statement, run=run_id)]

    def _ask(self, statement: str, **values: object) -> list[list[Any]]:
        return self._connection.run(statement, **values) or []


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait for it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not come within {PATIENCE_SECONDS:g} s")
        time.sleep(LOOK_SECONDS)
