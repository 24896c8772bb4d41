"""What the journal in Postgres does when sessions, servers and other owners get in its way."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pg8000.native import Connection

import dev_cluster
from pflow.adapters.postgres.database import PostgresDatabase
from pflow.adapters.postgres.journal import PostgresJournal
from pflow.adapters.postgres.migration import scripts
from pflow.core.errors import ConflictError, PflowError, StorageError, UsageError
from pflow.core.setting.place import Place
from pflow.engine.ports import Mail, Record
from tests.adapters.relay import Relay
from tests.cluster import COMMON, Server

pytestmark = pytest.mark.needs("postgres")

A, B, C = (Record(kind, f'{{"kind":"{kind}"}}'.encode()) for kind in "ABC")


@pytest.fixture
def open_journal(postgres: Server, a_place: Place) -> Iterator[Callable[[], PostgresJournal]]:
    opened: list[PostgresJournal] = []

    def make() -> PostgresJournal:
        opened.append(postgres.journal(a_place))
        return opened[-1]

    yield make
    for journal in opened:
        journal.close()


@pytest.fixture
def relay(postgres: Server, a_place: Place) -> Iterator[Relay]:
    with Relay(postgres.postgres.port) as relay:
        yield relay


@pytest.fixture
def over_relay(relay: Relay, postgres: Server, a_place: Place) -> Iterator[PostgresJournal]:
    """A journal whose connection can be cut."""
    assert a_place.journal is not None
    place = a_place._replace(journal=a_place.journal._replace(port=relay.port))
    journal = postgres.journal(place)
    yield journal
    journal.close()


Open = Callable[[], PostgresJournal]


def kinds(journal: PostgresJournal, run_id: str) -> str:
    return "".join(record.kind for record in journal.read(run_id))


def kill_sessions(postgres: Server) -> None:
    """End every session at the place, as an administrator would."""
    postgres.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE datname = '{COMMON}' AND application_name LIKE 'pflow%'"
    )
    count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{COMMON}' AND application_name LIKE 'pflow%'"
    while postgres.ask(count) != [[0]]:
        pass


def at_once(*calls: Callable[[], object]) -> list[object]:
    """What each gives, or raises, when all are called at the same moment."""
    barrier = threading.Barrier(len(calls))
    results: list[object] = [None] * len(calls)

    def call(number: int) -> None:
        barrier.wait()
        try:
            results[number] = calls[number]()
        except PflowError as error:
            results[number] = type(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# Two at once


@pytest.mark.parametrize("ticket", [0, 7])
def test_of_all_who_claim_an_orphan_at_once_one_gets_it(open_journal: Open, ticket: int) -> None:
    open_journal().create("r", "w", 1.0, [A], ticket=ticket and 1)
    [first, *others] = [open_journal() for _ in range(4)]
    if not ticket:
        first.claim("r", 1)
        first.append("r", 1, [], "stopped")
    results = at_once(*(lambda journal=journal: journal.claim("r", ticket) for journal in [first, *others]))
    assert sorted(map(str, results)) == sorted(map(str, [1, *[ConflictError] * 3]))


def test_of_two_answers_at_once_one_counts(open_journal: Open) -> None:
    owner, first, second = (open_journal() for _ in range(3))
    owner.create("r", "w", 1.0, [A])
    mail = Mail(key="k", data=b"{}", by="ada", via="terminal", at=5.0)
    results = at_once(lambda: first.deliver("r", mail), lambda: second.deliver("r", mail))
    assert sorted(map(bool, results)) == [False, True]
    assert len(owner.mail("r")) == 1
    owner.append("r", 1, [], "waiting", seen_mail=1)
    assert not owner.info("r").has_mail


def test_mail_that_is_being_stored_while_its_run_goes_to_rest_wakes_it(open_journal: Open, postgres: Server) -> None:
    owner = open_journal()
    owner.create("r", "w", 1.0, [A])
    late = PostgresDatabase(postgres.common, postgres.postgres.password)
    with late.transaction() as session:
        [[key]] = session.rows("SELECT key FROM pflow.runs WHERE run_id = 'r' FOR UPDATE")
        session.rows("UPDATE pflow.runs SET delivered = delivered + 1, mail = true WHERE key = $1::bigint", str(key))
        resting = threading.Thread(target=lambda: owner.append("r", 1, [B], "waiting", seen_mail=0))
        resting.start()
        blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        while postgres.ask(blocked) != [[1]]:
            pass
    resting.join()
    late.close()
    assert owner.info("r").has_mail


def test_a_refused_append_amid_others_takes_nothing_with_it(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    for run_id in ("a", "b"):
        first.create(run_id, "w", 1.0, [A])
    second.claim("b", 1)
    with first.together():
        first.append("a", 1, [B])
        with pytest.raises(ConflictError):
            first.append("b", 1, [B])
        first.append("a", 2, [C])
    assert (kinds(second, "a"), kinds(second, "b")) == ("ABC", "A")


def test_a_view_with_a_ticket_takes_a_run_from_an_earlier_view_of_the_same_process(
    postgres: Server, a_place: Place
) -> None:
    database = postgres.database(a_place)
    first, second = (PostgresJournal(database, shared=True, ticket=ticket) for ticket in (1, 2))
    first.create("r", "w", 1.0, [A])
    assert second.claim("r") == 1
    with pytest.raises(ConflictError):
        first.append("r", 1, [B])
    second.append("r", 1, [C], "completed")
    with pytest.raises(ConflictError):
        first.claim("r")
    database.close()


def test_views_of_one_database_are_owners_of_their_own(postgres: Server, a_place: Place) -> None:
    database = postgres.database(a_place)
    first, second = PostgresJournal(database, shared=True), PostgresJournal(database, shared=True)
    first.create("r", "w", 1.0, [A])
    with pytest.raises(ConflictError):
        second.claim("r")
    first.close()
    assert second.claim("r") == 1
    second.append("r", 1, [B], "completed")
    database.close()


# Sessions that end


def test_the_run_of_a_killed_session_is_an_orphan_that_others_take(open_journal: Open, postgres: Server) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    kill_sessions(postgres)
    assert not second.info("r").alive
    assert second.claim("r") == 1
    second.append("r", 1, [C])
    for _ in range(2):
        with pytest.raises(ConflictError):
            first.append("r", 1, [B])
    assert kinds(second, "r") == "AC"


@pytest.mark.parametrize("ticket", [0, 1])
def test_an_owner_goes_on_in_a_new_session_if_nobody_took_its_run(
    open_journal: Open, postgres: Server, ticket: int
) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=ticket)
    kill_sessions(postgres)
    first.append("r", 1, [B])
    assert second.info("r").alive, "it has the lock again"
    with pytest.raises(ConflictError):
        second.claim("r")
    first.append("r", 2, [C], "completed")
    assert kinds(second, "r") == "ABC"


@pytest.mark.parametrize("status", [None, "completed"])
@pytest.mark.parametrize("cut", ["request", "answer"])
def test_an_append_whose_answer_is_lost_is_stored_once(
    over_relay: PostgresJournal, relay: Relay, cut: str, status: str | None
) -> None:
    over_relay.create("r", "w", 1.0, [A])
    relay.cut = cut
    over_relay.append("r", 1, [B, B], status)  # type: ignore[arg-type]
    assert relay.cuts == 1
    assert kinds(over_relay, "r") == "ABB"
    if status is None:
        over_relay.append("r", 3, [C])
        assert kinds(over_relay, "r") == "ABBC"


@pytest.mark.parametrize("cut", ["request", "answer"])
def test_a_group_whose_session_is_lost_is_not_stored_in_part(
    over_relay: PostgresJournal, relay: Relay, cut: str
) -> None:
    for run_id in ("a", "b"):
        over_relay.create(run_id, "w", 1.0, [A])
    with pytest.raises(StorageError), over_relay.together():
        over_relay.append("a", 1, [B])
        relay.cut = cut
        with pytest.raises(StorageError):
            over_relay.append("b", 1, [B])
        with pytest.raises(StorageError):
            over_relay.append("a", 2, [C])
    assert (kinds(over_relay, "a"), kinds(over_relay, "b")) == ("A", "A")
    over_relay.append("a", 1, [C])
    assert kinds(over_relay, "a") == "AC"


def test_an_immediate_stop_amid_appends_loses_nothing_that_was_stored(crashing: Server) -> None:
    first, second = crashing.journal(crashing.common), crashing.journal(crashing.common)
    first.create("r", "w", 1.0, [A])
    stored = 1
    begun, stopped = threading.Event(), threading.Event()

    def append_on() -> None:
        nonlocal stored
        try:
            while True:
                first.append("r", stored, [B])
                stored += 1
                if stored > 20:
                    begun.set()
        except StorageError as error:
            assert "cannot be reached" in error.message
            stopped.set()

    worker = threading.Thread(target=append_on)
    worker.start()
    assert begun.wait(60)
    crashing.postgres.stop_at_once()
    assert stopped.wait(60)
    worker.join()
    with pytest.raises(StorageError, match="cannot be reached"):
        second.info("r")
    crashing.postgres.start()
    found = len(second.read("r"))
    assert found in (stored, stored + 1), "what was in flight may have been stored, too"
    assert second.claim("r") == found
    second.append("r", found, [C], "completed")
    with pytest.raises(ConflictError):
        first.append("r", stored, [B])
    first.close()
    second.close()


# Poolers


@pytest.fixture(scope="module")
def pooler(postgres: Server) -> dev_cluster.Pooler:
    return dev_cluster.Pooler(postgres.keeper, postgres.postgres)


def behind(pooler: dev_cluster.Pooler, place: Place, *, told: bool) -> Place:
    """A place whose database is reached through a pooler, whether or not its settings tell."""
    assert place.journal is not None
    return place._replace(journal=place.journal._replace(port=pooler.port), pooler=told)


@pytest.mark.needs("pgbouncer")
def test_a_pooler_in_transaction_mode_serves_owners_with_tickets(
    postgres: Server, a_place: Place, pooler: dev_cluster.Pooler
) -> None:
    journals = [postgres.journal(behind(pooler, a_place, told=True)) for _ in range(4)]
    for number, journal in enumerate(journals):
        journal.create(f"r{number}", "w", 1.0, [A], ticket=1)
    with journals[0].together():  # from here on the pooler has several sessions, which it lends in turn
        journals[0].append("r0", 1, [B])
        for number, journal in enumerate(journals[1:], 1):
            journal.append(f"r{number}", 1, [B])
    for seq in range(2, 10):
        for number, journal in enumerate(journals):
            journal.append(f"r{number}", seq, [B])
    assert journals[1].claim("r0", 2) == 10
    with pytest.raises(ConflictError):
        journals[0].append("r0", 10, [B])
    journals[1].append("r0", 10, [B], "completed")
    journals[1].states.change({("w", "k"): lambda _: b"1"}, run_id="r0", at=1.0)
    assert [one.data for one in journals[2].states.read(["w"])] == [b"1"]
    with pytest.raises(UsageError, match="driven by its workers"):
        journals[2].create("plain", "w", 1.0, [])
    for journal in journals:
        journal.close()


@pytest.mark.needs("pgbouncer")
def test_a_pooler_that_the_settings_do_not_tell_of_is_guessed(
    postgres: Server, a_place: Place, pooler: dev_cluster.Pooler
) -> None:
    told, untold = (postgres.journal(behind(pooler, a_place, told=told)) for told in (True, False))
    with told.together():
        told.states.change({("w", "k"): lambda _: b"1"}, run_id="r", at=1.0)
        untold.runs()
    with pytest.raises(StorageError, match="statement") as caught:
        for number in range(9):
            untold.create(f"r{number}", "w", 1.0, [A], ticket=1)
    assert "pflow settings set on.test.pooler true" in caught.value.suggestions[0]
    told.close()
    untold.close()


# Schemas


def test_a_database_without_tables_names_the_command_that_makes_them(postgres: Server) -> None:
    journal = postgres.journal(postgres.place("postgres"))
    with pytest.raises(StorageError, match="has no tables yet") as caught:
        journal.runs()
    assert list(caught.value.suggestions) == ["run `pflow journal migrate --on test`"]


def test_tables_are_made_once_whoever_comes_first(postgres: Server) -> None:
    postgres.ask("CREATE DATABASE migrated")
    place = postgres.place("migrated")
    results = at_once(*[lambda: postgres.database(place).migrate()] * 3)
    now = len(scripts())
    assert sorted(map(str, results)) == sorted(map(str, [(0, now), (now, now), (now, now)]))


def test_tables_of_a_later_version_are_used_as_long_as_they_allow_it(postgres: Server) -> None:
    place = postgres.make()
    assert place.journal is not None
    later = len(scripts()) + 1
    postgres.ask(f"INSERT INTO pflow.schema_version VALUES ({later}, 1)", place.journal.database)
    journal = postgres.journal(place)
    assert list(journal.runs()) == []
    journal.close()
    postgres.ask(f"UPDATE pflow.schema_version SET oldest = {later}", place.journal.database)
    for call in (postgres.journal(place).runs, postgres.database(place).migrate):
        with pytest.raises(StorageError, match=f"has version {later}") as caught:
            call()
        assert "update pflow" in caught.value.suggestions[0]


def test_a_database_in_another_encoding_is_refused(postgres: Server) -> None:
    postgres.ask("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(StorageError, match="LATIN1"):
        postgres.database(postgres.place("latin")).migrate()


# Addresses


def test_a_database_that_cannot_be_reached_is_named_without_its_password(postgres: Server, a_place: Place) -> None:
    assert a_place.journal is not None
    nowhere = a_place._replace(journal=a_place.journal._replace(port=dev_cluster.free_port()))
    wrong = PostgresJournal(PostgresDatabase(a_place, "not-the-password"))
    for journal, reason in ((postgres.journal(nowhere), "cannot be reached"), (wrong, "refuses us")):
        with pytest.raises(StorageError, match=reason) as caught:
            journal.runs()
        said = str(caught.value.as_dict())
        assert "postgresql://pflow@127.0.0.1:" in said
        assert postgres.postgres.password not in said and "not-the-password" not in said


def test_something_that_is_not_postgres_is_not_taken_for_it(postgres: Server, a_place: Place) -> None:
    assert a_place.journal is not None
    with Relay(0, answer=b"HTTP/1.1 400 Bad Request\r\n\r\n") as other:
        place = a_place._replace(journal=a_place.journal._replace(port=other.port))
        with pytest.raises(StorageError, match="cannot be reached"):
            postgres.journal(place).runs()


@pytest.mark.parametrize("way", ["no server", "cut", "refused"])
def test_a_session_that_is_over_leaves_no_connection_open(postgres: Server, a_place: Place, way: str) -> None:
    assert a_place.journal is not None
    before = open_sockets()
    with Relay(postgres.postgres.port, answer=b"HTTP/1.1 400\r\n\r\n" if way == "no server" else b"") as relay:
        place = a_place._replace(journal=a_place.journal._replace(port=relay.port))
        journal = PostgresJournal(PostgresDatabase(place, "wrong" if way == "refused" else postgres.postgres.password))
        if way == "cut":
            journal.runs()
            relay.cut = "request"
        with pytest.raises(StorageError) as caught:
            journal.runs()
    deadline = time.monotonic() + 10
    while open_sockets() > before and time.monotonic() < deadline:
        time.sleep(0.02)  # the relay's threads close theirs
    assert open_sockets() <= before, f"still open while somebody looks at: {caught.value}"


def open_sockets() -> int:
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed meanwhile
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return found


def test_a_server_without_tls_is_refused_where_tls_is_asked_for(postgres: Server) -> None:
    place = postgres.place(COMMON, journal_tls="verify")
    with pytest.raises(StorageError, match="it offers no TLS"):
        postgres.journal(place).runs()


@pytest.mark.needs("openssl")
def test_a_certificate_counts_only_if_its_authority_is_known(crashing: Server, tmp_path: Path) -> None:
    certificate = crashing.offer_tls()
    known = tmp_path / "ca.pem"
    known.write_text(certificate)
    for fields in ({"journal_tls": "verify", "journal_ca": str(known)}, {"journal_tls": "encrypt"}):
        journal = crashing.journal(crashing.place(COMMON, **fields))
        journal.create(str(fields), "w", 1.0, [A])
        journal.append(str(fields), 1, [Record("L", b"{}", (("d", b"x" * 300_000),))], "completed")
        assert len(journal.value(str(fields), "d")) == 300_000
        journal.close()
    with pytest.raises(StorageError, match="TLS failed: self-signed certificate"):
        crashing.journal(crashing.place(COMMON, journal_tls="verify")).runs()
    with pytest.raises(StorageError, match="there is no file"):
        crashing.journal(crashing.place(COMMON, journal_tls="verify", journal_ca=str(tmp_path / "none"))).runs()


def test_runs_can_be_read_with_sql(open_journal: Open, postgres: Server) -> None:
    open_journal().create("r", "greet", 1.0, [A])
    connection = Connection(
        *("pflow", "127.0.0.1", COMMON, postgres.postgres.port, postgres.postgres.password), ssl_context=False
    )
    sql = "SELECT run_id, kind, convert_from(data, 'UTF8') FROM pflow.runs JOIN pflow.events ON run = runs.key"
    assert connection.run(sql) == [["r", "A", '{"kind":"A"}']]
    connection.close()
