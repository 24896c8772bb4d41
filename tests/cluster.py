"""A Postgres for the tests of one process, and places in it: each test finds a database without runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pg8000.native import Connection

import dev_cluster
from dev_place import Cluster
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.journal import PostgresJournal
from pflow.core.setting.place import Place, read_place

TEMPLATE, COMMON = "pflow_template", "pflow_common"
TABLES = ("runs", "events", "run_values", "inbox", "state", "workers")


class Server:
    """A running Postgres that makes places."""

    def __init__(self, durable: bool) -> None:
        self.keeper = dev_cluster.Keeper()
        try:
            self.postgres = dev_cluster.Postgres(self.keeper, durable=durable)
            self.ask(f"CREATE DATABASE {TEMPLATE}")
            PostgresDatabase(self.place(TEMPLATE), self.postgres.password).migrate()
            self.ask(f"CREATE DATABASE {COMMON} TEMPLATE {TEMPLATE}")
            self.common = self.place(COMMON)
        except BaseException:
            self.keeper.close()
            raise
        self._made = 0

    def place(self, database: str, **fields: str | int | bool) -> Place:
        """A place with this database, whether or not it is there."""
        return read_place("test", {"test": {"journal": f"{self.postgres.address}/{database}", **fields}})

    def make(self, **fields: str | int | bool) -> Place:
        """A place with a database of its own, up to date and empty."""
        self._made += 1
        name = f"test_{self._made}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        return self.place(name, **fields)

    def empty(self) -> None:
        """Delete all runs and all state of the common place."""
        self.ask(";".join(f"DELETE FROM pflow.{table}" for table in TABLES), COMMON)

    def database(self, place: Place) -> PostgresDatabase:
        """The database of a place."""
        return PostgresDatabase(place, self.postgres.password)

    def journal(self, place: Place) -> PostgresJournal:
        """One more journal at a place, as another process would have it."""
        return PostgresJournal(self.database(place))

    def offer_tls(self) -> str:
        """Have it offer TLS from now on, with a certificate for 127.0.0.1 that it signed itself, which is returned."""
        data = Path(str(self.ask("SHOW data_directory")[0][0]))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
            + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "server.key", "-out", "server.crt"],
            cwd=data,
            check=True,
            capture_output=True,
        )
        owner = data.stat()
        for name in ("server.key", "server.crt"):
            (data / name).chmod(0o600)
            os.chown(data / name, owner.st_uid, owner.st_gid)
        self.ask("ALTER SYSTEM SET ssl = on")
        self.ask("SELECT pg_reload_conf()")
        while self.ask("SHOW ssl") != [["on"]]:
            pass
        return (data / "server.crt").read_text()

    def ask(self, sql: str, database: str = "postgres") -> list[list[object]]:
        """Have the server do something, as its administrator."""
        connection = Connection(
            dev_cluster.USER,
            host="127.0.0.1",
            port=self.postgres.port,
            database=database,
            password=self.postgres.password,
            ssl_context=False,
        )
        try:
            return connection.run(sql) or []
        finally:
            connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One server for all tests of this process, which does not wait for the disk."""
    server = Server(durable=False)
    yield server
    server.keeper.close()


@pytest.fixture
def a_place(postgres: Server) -> Iterator[Place]:
    """A place of this test alone. It is emptied, as a new database takes fifty times as long."""
    yield postgres.common
    postgres.empty()


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """Postgres and Temporal for the tests of one package. Workers lose their runs after three seconds.

    It ends with the package: Temporal takes a tenth of a processor even while nobody asks for anything.
    """
    made = Cluster([sys.executable, "-m", "pflow"], lease=3, durable=False)
    try:
        place = read_place("dev", {"dev": {"journal": made.settings["on.dev.journal"]}})
        PostgresDatabase(place, made.postgres.password).migrate()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def crashing() -> Iterator[Server]:
    """A server that waits for the disk, for tests that stop it."""
    server = Server(durable=True)
    yield server
    server.keeper.close()
