"""What every journal does, shown on each of them by the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import ConflictError, ExistsError, NotFoundError, PflowError, StorageError
from pflow.engine.ports import Journal, Mail, Record, RunInfo, RunQuery, Status
from pflow.testing import MemoryJournal, MemoryStore
from tests.adapters.stores import open_on_one_store
from tests.quick import examples

A, B, C = (Record(kind, f'{{"kind":"{kind}"}}'.encode()) for kind in "ABC")
LARGE = bytes(range(256)) * 400

Open = Callable[[], Journal]

ASKED = ("r", "t")
"""The runs that an owner asks about."""


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def open_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens one more journal on the same store, as another process would."""
    yield from open_on_one_store(request, tmp_path)


@pytest.fixture
def journal(open_journal: Open) -> Journal:
    return open_journal()


def found(journal: Journal, **query: Any) -> list[str]:
    return [info.run_id for info in journal.runs(RunQuery(**query))]


def kinds(journal: Journal, run_id: str, start: int = 0) -> str:
    return "".join(record.kind for record in journal.read(run_id, start))


# Creating and reading


def test_a_new_run_has_its_first_records_and_is_ours(journal: Journal) -> None:
    journal.create("r", "greet", 12.5, [A, B])
    assert journal.read("r") == [A, B]
    assert journal.info("r") == RunInfo(
        run_id="r", workflow="greet", status="running", started_at=12.5, ended_at=None, events=2, alive=True
    )


def test_a_run_may_begin_without_records(journal: Journal) -> None:
    journal.create("r", "", 0.0, [])
    assert list(journal.read("r")) == []
    journal.append("r", 0, [A])
    assert journal.info("r").events == 1


def test_an_id_is_given_once(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    for journal in (first, second):
        with pytest.raises(ExistsError):
            journal.create("r", "other", 2.0, [B])
    assert first.info("r").workflow == "w"
    assert kinds(second, "r") == "A"


def test_reading_can_start_anywhere(journal: Journal) -> None:
    journal.create("before", "w", 1.0, [A])
    journal.create("r", "w", 1.0, [A, B, C])
    assert [kinds(journal, "r", start) for start in range(-1, 5)] == ["ABC", "ABC", "BC", "C", "", ""]
    sound = [[record.kind for record in journal.read_sound("r", limit)] for limit in (1, 2, 9, None)]
    assert sound == [["A"], ["A", "B"], ["A", "B", "C"], ["A", "B", "C"]]


def test_others_read_what_was_appended_at_once(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    assert kinds(second, "r") == "A"
    first.append("r", 1, [B])
    assert kinds(second, "r") == "AB"
    assert second.info("r").alive


@pytest.mark.parametrize(
    "call",
    [
        lambda journal: journal.claim("x"),
        lambda journal: journal.append("x", 0, [A]),
        lambda journal: journal.read("x"),
        lambda journal: journal.value("x", "d"),
        lambda journal: journal.info("x"),
        lambda journal: journal.request_cancel("x"),
        lambda journal: journal.info("\ud800"),
        lambda journal: journal.info("'; DROP TABLE runs; --"),
        lambda journal: journal.info("a\0b"),
        lambda journal: journal.info("\x1b[31m" * 100),
    ],
)
def test_a_run_that_does_not_exist_is_not_found(journal: Journal, call: Callable[..., Any]) -> None:
    for _ in range(2):
        with pytest.raises(NotFoundError) as caught:
            call(journal)
        assert caught.value.message.isprintable()
        if "y" not in [info.run_id for info in journal.runs()]:
            journal.create("y", "w", 1.0, [])


@pytest.mark.parametrize("text", ["'; DROP TABLE runs; --", "a\0b", "é💥", "%_*?[", "x" * 5000, ""])
def test_ids_and_names_are_data(journal: Journal, text: str) -> None:
    journal.create(text, text, 1.0, [Record(text, text.encode())])
    assert journal.info(text).workflow == text
    assert journal.read(text) == [Record(text, text.encode())]
    assert found(journal, prefix=text) == found(journal, text=text) == found(journal, workflow=text) == [text]


# Appending


def test_records_are_appended_in_order(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [B])
    journal.append("r", 2, [C, A])
    journal.append("r", 4, [])
    assert kinds(journal, "r") == "ABCA"
    assert journal.info("r").events == 4


def test_many_records_are_one_append(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [])
    for seq, count in ((0, 500), (500, 17), (517, 16), (533, 1)):
        journal.append("r", seq, [Record("E", b"%d" % (seq + number)) for number in range(count)])
    assert [record.data for record in journal.read("r")] == [b"%d" % number for number in range(534)]


@pytest.mark.parametrize("seq", [0, 1, 3, 100, -1])
def test_a_number_that_is_not_the_next_is_refused_and_stores_nothing(journal: Journal, seq: int) -> None:
    journal.create("r", "w", 1.0, [A, A])
    with pytest.raises(ConflictError):
        journal.append("r", seq, [B, B], "completed")
    assert kinds(journal, "r") == "AA"
    assert journal.info("r").status == "running"
    journal.append("r", 2, [C])
    assert kinds(journal, "r") == "AAC"


@pytest.mark.parametrize("status", ["completed", "failed", "stopped", "cancelled", "damaged"])
def test_a_status_ends_the_run_and_our_ownership(journal: Journal, status: Status) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [B], status)
    info = journal.info("r")
    assert (info.status, info.events, info.alive) == (status, 2, False)
    assert info.ended_at is not None
    with pytest.raises(ConflictError):
        journal.append("r", 2, [C])


def test_a_run_can_end_without_a_record_and_go_on_while_it_is_running(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [B], "running")
    journal.append("r", 2, [], "completed")
    assert journal.info("r").status == "completed"
    assert kinds(journal, "r") == "AB"


def test_a_run_of_another_is_refused(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    with pytest.raises(ConflictError):
        second.append("r", 1, [B])
    assert kinds(first, "r") == "A"


# Large values


def test_appends_of_several_runs_become_durable_together(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    for run_id in ("a", "b", "c"):
        journal.create(run_id, "w", 1.0, [A])
    with journal.together():
        journal.append("a", 1, [B])
        with pytest.raises(ConflictError):
            journal.append("b", 7, [B])
        journal.append("c", 1, [Record("L", b"{}", (("d" * 40, LARGE),)), C])
        journal.append("a", 2, [C])
        journal.append("b", 1, [B], "completed")
    assert [kinds(other, run_id) for run_id in ("a", "b", "c")] == ["ABC", "AB", "ALC"]
    assert other.value("c", "d" * 40) == LARGE
    assert other.info("b").status == "completed"


def test_large_values_are_kept_beside_the_events(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [Record("A", b"{}", (("d0", b"zero"),))])
    journal.append("r", 1, [Record("B", b"{}", (("d1", LARGE), ("d2", b""))), C])
    assert journal.read("r") == [Record("A", b"{}"), Record("B", b"{}"), C]
    assert [journal.value("r", digest) for digest in ("d0", "d1", "d2")] == [b"zero", LARGE, b""]


def test_a_value_that_is_known_is_not_stored_again(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [Record("A", b"{}", (("d", b"first"),))])
    journal.append("r", 1, [Record("B", b"{}", (("d", b"first"),))])
    assert journal.value("r", "d") == b"first"


def test_a_value_belongs_to_its_run(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [Record("A", b"{}", (("d", b"1"),))])
    journal.create("s", "w", 1.0, [])
    for run_id, digest in (("s", "d"), ("r", "other")):
        with pytest.raises(NotFoundError):
            journal.value(run_id, digest)


def test_a_refused_append_stores_no_value(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [])
    with pytest.raises(ConflictError):
        journal.append("r", 5, [Record("A", b"{}", (("d", b"1"),))])
    with pytest.raises(NotFoundError):
        journal.value("r", "d")


# Owning


def test_a_run_in_progress_cannot_be_claimed(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    for journal in (first, second):
        with pytest.raises(ConflictError) as caught:
            journal.claim("r")
        assert caught.value.code == "already_running"
    first.append("r", 1, [B])


def test_an_ended_run_goes_on_with_whoever_claims_it(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    first.append("r", 1, [B], "failed")
    assert second.claim("r") == 2
    info = first.info("r")
    assert (info.status, info.ended_at, info.alive) == ("running", None, True)
    with pytest.raises(ConflictError):
        first.append("r", 2, [C])
    with pytest.raises(ConflictError):
        first.claim("r")
    second.append("r", 2, [C], "completed")
    assert kinds(first, "r") == "ABC"
    assert first.claim("r") == 3


def test_closing_makes_orphans_that_can_be_claimed(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    assert second.info("r").alive
    first.close()
    info = second.info("r")
    assert (info.status, info.alive) == ("running", False)
    assert second.claim("r") == 1
    second.append("r", 1, [B])


def test_a_damaged_run_cannot_be_claimed(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [], "damaged")
    with pytest.raises(PflowError) as caught:
        journal.claim("r")
    assert caught.value.code == "damaged"


def test_a_closed_journal_says_so_and_closes_twice(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.close()
    journal.close()
    for call in (
        lambda: journal.create("s", "w", 1.0, []),
        lambda: journal.append("r", 1, [B]),
        lambda: journal.claim("r"),
        lambda: journal.read("r"),
        lambda: journal.value("r", "d"),
        lambda: journal.info("r"),
        lambda: journal.runs(),
        lambda: journal.version(),
        lambda: journal.request_cancel("r"),
        lambda: journal.cancel_requests(ASKED),
        lambda: journal.delete(["r"]),
    ):
        with pytest.raises(StorageError, match="closed"):
            call()


# Lists


def test_a_store_without_runs_is_empty(journal: Journal) -> None:
    assert list(journal.runs()) == [] and journal.version() == journal.version()
    assert journal.cancel_requests(ASKED) == frozenset()
    journal.delete(["nothing"])


def test_runs_are_listed_newest_first_whatever_the_clock_said(journal: Journal) -> None:
    for number, started_at in enumerate([5.0, 1.0, 9.0, 9.0]):
        journal.create(f"r{number}", f"w{number}", started_at, [])
    assert [info.run_id for info in journal.runs()] == ["r3", "r2", "r1", "r0"]
    assert found(journal, limit=2) == ["r3", "r2"]
    assert found(journal, limit=0) == []
    assert found(journal, limit=None) == ["r3", "r2", "r1", "r0"]


def test_runs_are_found_by_the_beginning_of_their_id(journal: Journal) -> None:
    for run_id in ("abc", "abd", "b%c", "ABC", "ab"):
        journal.create(run_id, "w", 1.0, [])
    assert found(journal, prefix="ab") == ["ab", "abd", "abc"]
    assert found(journal, prefix="b%") == ["b%c"]
    assert found(journal, prefix="%") == found(journal, prefix="_b") == found(journal, prefix="abcd") == []
    assert len(found(journal, prefix="")) == 5
    assert found(journal, prefix="\ud800") == found(journal, workflow="\ud800") == found(journal, text="\ud800") == []


def test_runs_are_found_by_workflow_and_status(journal: Journal) -> None:
    statuses: list[Status | None] = ["completed", "failed", None, "failed"]
    for number, status in enumerate(statuses):
        journal.create(f"r{number}", f"w{number % 2}", 1.0, [A])
        if status:
            journal.append(f"r{number}", 1, [], status)
    assert found(journal, workflow="w1") == ["r3", "r1"]
    assert found(journal, status="failed") == ["r3", "r1"]
    assert found(journal, status="running") == ["r2"]
    assert found(journal, workflow="w0", status="failed") == found(journal, workflow="w") == []


def test_runs_are_found_by_text_in_their_name_id_or_error(journal: Journal) -> None:
    failed = Record("RunFailed", '{"error":{"type":"execution","message":"the Gate is „zu“"},"at":2.0}'.encode())
    for run_id, workflow, last in (
        ("r1", "deploy", failed),
        ("r2", "gatekeeper", B),
        ("gate-3", "other", B),
        ("r4", "other", Record("RunFailed", b"broken")),
        ("r5", "other", Record("RunCompleted", failed.data)),
    ):
        journal.create(run_id, workflow, 1.0, [A])
        journal.append(run_id, 1, [last], "failed")
    assert found(journal, text="gate") == found(journal, text="GATE") == ["gate-3", "r2", "r1"]
    assert found(journal, text="gate", limit=2) == ["gate-3", "r2"]
    assert found(journal, text="gate", before="gate-3", limit=1) == ["r2"]
    assert found(journal, text="„zu“") == ["r1"]
    assert found(journal, text="message") == found(journal, text="%") == []


def test_a_list_goes_on_after_a_run(journal: Journal) -> None:
    for number in range(5):
        journal.create(f"r{number}", "w", 1.0, [])
    assert found(journal, before="r3", limit=2) == ["r2", "r1"]
    assert found(journal, before="r0") == []
    with pytest.raises(NotFoundError):
        journal.runs(RunQuery(before="gone"))


# Versions


def test_the_version_changes_with_whatever_anyone_stores(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    seen = [journal.version()]
    for store in (
        lambda: journal.create("r", "w", 1.0, [A]),
        lambda: journal.append("r", 1, [B]),
        lambda: other.create("s", "w", 1.0, [A]),
        lambda: other.append("s", 1, [Record("L", b"{}", (("d" * 40, LARGE),))]),
        lambda: other.request_cancel("r"),
        lambda: journal.append("r", 2, [], "completed"),
        lambda: other.claim("r"),
        lambda: other.append("r", 2, [], "completed"),
        lambda: other.delete(["r"]),
    ):
        store()
        seen.append(journal.version())
        assert journal.version() == seen[-1]
    assert len(set(seen)) == len(seen)


def test_looking_changes_no_version(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    journal.create("r", "w", 1.0, [A])
    before = journal.version()
    for reader in (journal, other):
        reader.runs()
        reader.read("r")
        reader.cancel_requests(ASKED)
    assert journal.version() == before


# Cancelling


def test_the_owner_hears_of_a_request_to_cancel(open_journal: Open) -> None:
    owner, other = open_journal(), open_journal()
    for run_id in ("r", "s"):
        owner.create(run_id, "w", 1.0, [])
    other.create("t", "w", 1.0, [])
    assert owner.cancel_requests(ASKED) == frozenset()
    other.request_cancel("r")
    other.request_cancel("r")
    owner.request_cancel("t")
    assert owner.cancel_requests(ASKED) == {"r"}
    assert other.cancel_requests(ASKED) == {"t"}
    assert owner.cancel_requests(ASKED) == frozenset(), "a request is told once"
    other.request_cancel("r")
    assert owner.cancel_requests(ASKED) == {"r"}, "and another one again"
    other.request_cancel("r")
    owner.append("r", 0, [A], "cancelled")
    assert owner.cancel_requests(ASKED) == frozenset()


def test_a_request_waits_until_somebody_asks_about_its_run(journal: Journal) -> None:
    for run_id in ("r", "s"):
        journal.create(run_id, "w", 1.0, [])
        journal.request_cancel(run_id)
    assert journal.cancel_requests([]) == frozenset()
    assert journal.cancel_requests(["s"]) == {"s"}
    assert journal.cancel_requests(["s", "r", "nothing"]) == {"r"}


def test_a_request_does_not_outlive_the_run(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [])
    first.append("r", 0, [], "stopped")
    second.request_cancel("r")
    assert second.claim("r") == 0
    assert second.cancel_requests(ASKED) == frozenset()
    first.request_cancel("r")
    second.close()
    assert first.claim("r") == 0
    assert first.cancel_requests(ASKED) == frozenset()


@pytest.mark.parametrize("rests_first", [False, True])
def test_a_request_outlives_a_rest_and_lets_the_run_go_on_at_once(open_journal: Open, rests_first: bool) -> None:
    first, second = open_journal(), open_journal()
    for run_id in ("r", "s"):
        first.create(run_id, "w", 1.0, [])
    first.append("s", 0, [], "waiting")
    if rests_first:
        first.append("r", 0, [], "waiting")
    second.request_cancel("r")
    if not rests_first:
        first.append("r", 0, [], "waiting")
    assert [info.run_id for info in second.runs(RunQuery(due=0.0))] == ["r"]
    assert second.cancel_requests(ASKED) == frozenset(), "it is nobody's"
    for run_id in ("r", "s"):
        second.claim(run_id)
    assert second.cancel_requests(ASKED) == {"r"}
    second.append("r", 0, [], "waiting")
    assert not second.info("r").has_mail


def test_a_request_passes_to_whoever_takes_the_run_with_a_ticket(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [], ticket=1)
    first.request_cancel("r")
    second.claim("r", 2)
    assert first.cancel_requests(ASKED) == frozenset()
    assert second.cancel_requests(ASKED) == {"r"}


# Deleting


def test_deleted_runs_are_gone_with_their_values(journal: Journal) -> None:
    for run_id in ("r", "s"):
        journal.create(run_id, "w", 1.0, [Record("A", b"{}", (("d", b"1"),))])
        journal.append(run_id, 1, [], "completed")
    journal.delete(["r", "unknown"])
    for call in (journal.read, journal.info, lambda run_id: journal.value(run_id, "d")):
        with pytest.raises(NotFoundError):
            call("r")
    assert [info.run_id for info in journal.runs()] == ["s"]
    assert journal.value("s", "d") == b"1"
    journal.create("r", "again", 2.0, [B])
    assert kinds(journal, "r") == "B"
    with pytest.raises(NotFoundError):
        journal.value("r", "d")


def test_a_running_run_cannot_be_deleted_and_nothing_is(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("done", "w", 1.0, [A])
    first.append("done", 1, [], "completed")
    first.create("r", "w", 1.0, [A])
    for journal in (first, second):
        with pytest.raises(ConflictError):
            journal.delete(["done", "r"])
    assert kinds(first, "done") == "A"
    first.close()
    second.delete(["done", "r"])
    assert list(second.runs()) == []


# Everything at once


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def open_fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Open]:
    """Gives what opens journals on a store without runs, a new one each time."""
    if request.param == "sqlite":
        return lambda: partial(SqliteJournal, tmp_path_factory.mktemp("model") / "runs.db")
    place, server = request.getfixturevalue("a_place"), request.getfixturevalue("postgres")

    def empty() -> Open:
        server.empty()
        return partial(server.journal, place)

    return empty


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_sequence_of_calls_looks_the_same_in_every_journal(
    open_fresh: Callable[[], Open], data: st.DataObject
) -> None:
    store, open_other = MemoryStore(), open_fresh()
    pairs = [(MemoryJournal(store), open_other()) for _ in range(2)]
    run_ids = st.sampled_from(["r", "s", "t"])
    try:
        for _ in range(data.draw(st.integers(1, 15))):
            memory, other = pairs[data.draw(st.integers(0, 1))]
            name, *arguments = data.draw(
                st.one_of(
                    st.tuples(st.just("create"), run_ids, st.just("w"), st.just(1.0), st.just([A])),
                    st.tuples(st.just("claim"), run_ids, st.integers(0, 3)),
                    st.tuples(
                        st.just("append"),
                        run_ids,
                        st.integers(0, 5),
                        st.lists(st.sampled_from([A, B, Record("V", b"{}", (("d", b"v"),))]), max_size=2),
                        st.sampled_from([None, "completed", "failed"]),
                    ),
                    st.tuples(st.just("request_cancel"), run_ids),
                    st.tuples(st.just("delete"), st.lists(run_ids, max_size=2)),
                )
            )
            assert outcome(memory, name, arguments) == outcome(other, name, arguments)
            for one, another in pairs:
                assert view(one) == view(another)
    finally:
        for pair in pairs:
            for journal in pair:
                journal.close()


def outcome(journal: Journal, name: str, arguments: Sequence[object]) -> object:
    try:
        return getattr(journal, name)(*arguments)
    except (ConflictError, ExistsError, NotFoundError) as error:
        return type(error)


def view(journal: Journal) -> object:
    return [
        (info.run_id, info.status, info.events, info.alive, info.ended_at is None, list(journal.read(info.run_id)))
        for info in journal.runs()
    ], journal.cancel_requests([info.run_id for info in journal.runs()])


# Waiting, and mail


def a_mail(key: str, by: str = "ada") -> Mail:
    return Mail(key=key, data=b'{"choice":"yes"}', by=by, via="terminal", at=5.0)


def test_a_run_that_waits_is_due_when_its_time_has_come(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [B], "waiting", wake_at=100.0)
    info = journal.info("r")
    assert (info.status, info.alive, info.wake_at, info.has_mail) == ("waiting", False, 100.0, False)
    assert found(journal, due=99.0) == []
    assert found(journal, due=100.0) == ["r"]
    assert found(journal, status="waiting") == ["r"]


def test_of_two_answers_to_one_question_the_first_counts(open_journal: Open) -> None:
    owner, first, second = open_journal(), open_journal(), open_journal()
    owner.create("r", "w", 1.0, [A])
    assert first.deliver("r", a_mail("k"))
    assert not second.deliver("r", a_mail("k", by="bob"))
    assert second.deliver("r", a_mail("l", by="bob"))
    assert owner.mail("r") == [a_mail("k"), a_mail("l", by="bob")]
    assert owner.mail("r", 1) == [a_mail("l", by="bob")]


def test_mail_makes_a_run_that_waits_due_until_it_is_claimed(open_journal: Open) -> None:
    owner, other = open_journal(), open_journal()
    owner.create("r", "w", 1.0, [A])
    owner.append("r", 1, [], "waiting")
    assert found(other, due=1e12) == []
    assert other.deliver("r", a_mail("k"))
    assert found(other, due=0.0) == ["r"]
    other.claim("r")
    assert not other.info("r").has_mail
    assert other.mail("r") == [a_mail("k")]


def test_what_came_while_its_owner_went_to_rest_makes_a_run_due_at_once(open_journal: Open) -> None:
    owner, other = open_journal(), open_journal()
    owner.create("r", "w", 1.0, [A])
    assert other.deliver("r", a_mail("k"))
    owner.append("r", 1, [], "waiting", seen_mail=0)
    assert found(other, due=0.0) == ["r"]
    owner.claim("r")
    owner.append("r", 1, [], "waiting", seen_mail=1)
    assert found(other, due=0.0) == []


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_nothing_is_delivered_to_a_run_that_is_over(journal: Journal, status: Status) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [], status)
    assert not journal.deliver("r", a_mail("k"))
    assert list(journal.mail("r")) == []


def test_nothing_is_delivered_to_a_run_that_is_not_there(journal: Journal) -> None:
    for call in (lambda: journal.deliver("nope", a_mail("k")), lambda: journal.mail("nope")):
        with pytest.raises(NotFoundError):
            call()


def test_a_run_that_waits_is_not_deleted(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [], "waiting")
    with pytest.raises(ConflictError, match="waiting"):
        journal.delete(["r"])
    journal.claim("r")
    journal.append("r", 1, [], "cancelled")
    journal.delete(["r"])
    assert found(journal) == []


# Tickets


def test_a_higher_ticket_takes_a_run_from_a_living_owner_who_can_append_no_more(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=1)
    assert second.claim("r", 2) == 1
    for _ in range(2):
        with pytest.raises(ConflictError):
            first.append("r", 1, [B])
    second.append("r", 1, [C])
    assert kinds(first, "r") == "AC"


def test_a_ticket_takes_a_run_from_somebody_without_one(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A])
    assert second.claim("r", 1) == 1
    with pytest.raises(ConflictError):
        first.append("r", 1, [B])
    second.append("r", 1, [C], "completed")


@pytest.mark.parametrize("ticket", [0, 1, 2, 3])
def test_a_late_ticket_is_refused_while_the_run_is_driven(open_journal: Open, ticket: int) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=3)
    for journal in (first, second):
        with pytest.raises(ConflictError) as caught:
            journal.claim("r", ticket)
        assert caught.value.code == "already_running"
    first.append("r", 1, [B])


def test_a_late_ticket_is_refused_after_the_end_as_well_but_a_person_may_go_on(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=3)
    first.append("r", 1, [B], "failed")
    with pytest.raises(ConflictError):
        second.claim("r", 2)
    assert second.claim("r", 3) == 2, "whoever has the ticket can go on with it"
    second.append("r", 2, [], "stopped")
    assert first.claim("r") == 2
    first.append("r", 2, [C], "completed")
    with pytest.raises(ConflictError):
        second.claim("r", 2)
    assert second.claim("r", 4) == 3


def test_an_owner_by_ticket_counts_as_alive_until_the_run_ends_or_is_taken(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=1)
    first.close()
    assert second.info("r").alive
    with pytest.raises(ConflictError):
        second.claim("r")
    with pytest.raises(ConflictError):
        second.delete(["r"])
    second.claim("r", 1 << 40)
    second.append("r", 1, [B], "completed")
    assert not second.info("r").alive


def test_an_owner_who_took_a_run_without_a_ticket_lives_as_long_as_its_journal(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    first.create("r", "w", 1.0, [A], ticket=5)
    first.append("r", 1, [], "waiting")
    second.claim("r")
    assert first.info("r").alive
    second.close()
    assert not first.info("r").alive
    assert first.claim("r") == 1
