"""A Postgres for the tests of one process, and places in it: each test finds a database without runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pg8000.native import Connection

import dev_cluster
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.journal import PostgresJournal
from pflow.core.setting.place import Place, read_place

TEMPLATE, COMMON = "pflow_template", "pflow_common"
TABLES = ("runs", "events", "run_values", "inbox", "state")


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

    def drop(self, place: Place) -> None:
        """Delete the database of a place, whoever uses it."""
        assert place.journal is not None
        self.ask(f"DROP DATABASE IF EXISTS {place.journal.database} WITH (FORCE)")

    def database(self, place: Place) -> PostgresDatabase:
        """The database of a place."""
        return PostgresDatabase(place, self.postgres.password)

    def journal(self, place: Place) -> PostgresJournal:
        """One more journal at a place, as another process would have it."""
        return PostgresJournal(self.database(place))

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
    postgres.ask(";".join(f"DELETE FROM pflow.{table}" for table in TABLES), COMMON)


@pytest.fixture(scope="module")
def crashing() -> Iterator[Server]:
    """A server that waits for the disk, for tests that stop it."""
    server = Server(durable=True)
    yield server
    server.keeper.close()
