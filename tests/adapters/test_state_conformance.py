"""What every store of state does, shown on each of them by the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import ExistsError, StateConflict, StorageError
from pflow.engine.ports import STATE_VERSIONS, Decide, Journal, Record, StateStore, StateVersion
from pflow.testing import MemoryJournal
from tests.adapters.stores import open_on_one_store
from tests.quick import examples

Open = Callable[[], Journal]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def open_journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens one more journal on the same store, as another process would."""
    yield from open_on_one_store(request, tmp_path)


@pytest.fixture
def journal(open_journal: Open) -> Journal:
    return open_journal()


@pytest.fixture
def states(journal: Journal) -> StateStore:
    return journal.states


def to(data: bytes | None) -> Decide:
    """Sets a value, whatever it was."""
    return lambda _: data


def put(states: StateStore, key: str, data: bytes | None, workflow: str = "w", run_id: str = "r") -> None:
    states.change({(workflow, key): to(data)}, run_id=run_id, at=1.5)


def kept(states: StateStore, *workflows: str) -> dict[str, bytes | None]:
    return {one.key: one.data for one in states.read(workflows or ["w"])}


def test_nothing_is_kept_at_first(states: StateStore) -> None:
    assert list(states.read(["w"])) == []
    assert list(states.workflows()) == []
    assert list(states.history("w")) == []
    assert not states.forget("w")


def test_what_was_set_is_there_with_its_version_and_who_set_it(states: StateStore) -> None:
    changed = states.change({("w", "a"): to(b"1"), ("w", "b"): to(b'"x"')}, run_id="r1", at=2.5)
    a = StateVersion(workflow="w", key="a", version=1, data=b"1", run_id="r1", at=2.5)
    b = a._replace(key="b", data=b'"x"')
    assert changed == {("w", "a"): a, ("w", "b"): b}
    assert list(states.read(["w"])) == [a, b]
    assert list(states.workflows()) == ["w"]


def test_a_change_is_told_the_newest_version(states: StateStore) -> None:
    told: list[StateVersion | None] = []

    def note(newest: StateVersion | None) -> bytes:
        told.append(newest)
        return b"%d" % len(told)

    for _ in range(3):
        states.change({("w", "a"): note}, run_id="r", at=1.0)
    assert [one and one.version for one in told] == [None, 1, 2]
    assert kept(states) == {"a": b"3"}


def test_a_value_that_stays_as_it_is_gets_no_new_version(states: StateStore) -> None:
    put(states, "a", b"1")
    [first] = states.read(["w"])
    assert states.change({("w", "a"): to(b"1")}, run_id="other", at=9.0) == {("w", "a"): first}
    assert list(states.history("w")) == [first]


def test_an_unset_value_has_a_version_without_data(states: StateStore) -> None:
    put(states, "a", b"1")
    put(states, "a", None)
    [now] = states.read(["w"])
    assert (now.version, now.data) == (2, None)
    assert states.change({("w", "never"): to(None)}, run_id="r", at=1.0) == {}
    put(states, "a", b"2")
    assert [(one.version, one.data) for one in states.history("w", "a")] == [(3, b"2"), (2, None), (1, b"1")]


def test_a_change_that_is_refused_takes_the_others_back(states: StateStore) -> None:
    put(states, "a", b"1")

    def refuse(_: StateVersion | None) -> bytes:
        raise StateConflict("no")

    with pytest.raises(StateConflict):
        states.change({("w", "a"): to(b"2"), ("v", "a"): to(b"3"), ("w", "b"): refuse}, run_id="r", at=1.0)
    assert kept(states, "w", "v") == {"a": b"1"}
    assert len(states.history("w")) == 1


def test_only_the_newest_versions_of_each_value_are_kept(states: StateStore) -> None:
    put(states, "b", b"1")
    for number in range(STATE_VERSIONS + 5):
        put(states, "a", b"%d" % number)
    versions = [one.version for one in states.history("w", "a")]
    assert versions == list(range(STATE_VERSIONS + 5, 5, -1))
    assert [one.version for one in states.history("w", "b")] == [1]


def test_the_history_has_what_was_set_last_first_also_at_one_moment(states: StateStore) -> None:
    for key in ("b", "a", "b"):
        put(states, key, b"%d" % len(states.history("w")))
    assert [(one.key, one.version) for one in states.history("w")] == [("b", 2), ("a", 1), ("b", 1)]


def test_workflows_keep_apart(states: StateStore) -> None:
    put(states, "a", b"1", workflow="one")
    put(states, "a", b"2", workflow="two")
    assert kept(states, "one") == {"a": b"1"}
    assert [(one.workflow, one.data) for one in states.read({"two", "one", "three"})] == [("one", b"1"), ("two", b"2")]
    assert list(states.workflows()) == ["one", "two"]


def test_a_renamed_workflow_has_its_state_with_all_versions(states: StateStore) -> None:
    put(states, "a", b"1", workflow="old")
    put(states, "a", b"2", workflow="old")
    states.rename("old", "new")
    states.rename("nothing", "other")
    assert [one.data for one in states.history("new", "a")] == [b"2", b"1"]
    assert list(states.workflows()) == ["new"]


def test_a_name_that_has_state_is_taken(states: StateStore) -> None:
    put(states, "a", b"1", workflow="old")
    put(states, "a", b"2", workflow="new")
    with pytest.raises(ExistsError):
        states.rename("old", "new")
    states.rename("nothing", "new")
    assert (kept(states, "old"), kept(states, "new")) == ({"a": b"1"}, {"a": b"2"})


def test_what_is_forgotten_is_gone_with_its_versions(states: StateStore) -> None:
    put(states, "a", b"1")
    put(states, "a", b"1", workflow="other")
    assert states.forget("w")
    assert list(states.history("w")) == []
    assert list(states.workflows()) == ["other"]
    put(states, "a", b"2")
    assert [one.version for one in states.read(["w"])] == [1]


@pytest.mark.parametrize("text", ["'; DROP TABLE state; --", "a\0b", "é💥", "%_*?[", "x" * 5000, "", "a b/c"])
def test_names_are_data(states: StateStore, text: str) -> None:
    put(states, text, b"1", workflow=text)
    assert kept(states, text) == {text: b"1"}
    assert [one.key for one in states.history(text, text)] == [text]
    assert list(states.workflows()) == [text]


def test_a_name_that_is_not_text_has_no_state(states: StateStore) -> None:
    assert list(states.read(["\ud800"])) == list(states.history("\ud800")) == []
    assert not states.forget("\ud800")


def test_others_see_what_was_set_at_once(open_journal: Open) -> None:
    first, second = open_journal(), open_journal()
    put(first.states, "a", b"1")
    put(second.states, "a", b"2")
    assert kept(first.states) == {"a": b"2"}
    assert [one.version for one in first.states.history("w")] == [2, 1]


def test_the_journal_shows_that_something_was_stored(journal: Journal) -> None:
    before = journal.version()
    put(journal.states, "a", b"1")
    assert journal.version() != before


def test_a_change_becomes_real_together_with_what_is_appended(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    journal.create("r", "w", 1.0, [])
    with journal.together():
        put(journal.states, "a", b"1")
        journal.append("r", 0, [Record("A", b"{}")], "completed")
    assert kept(other.states) == {"a": b"1"}
    assert other.info("r").status == "completed"


def test_a_change_is_undone_with_what_fails_beside_it(open_journal: Open) -> None:
    journal, other = open_journal(), open_journal()
    journal.create("r", "w", 1.0, [])
    put(journal.states, "a", b"1")
    with pytest.raises(RuntimeError), journal.together():
        put(journal.states, "a", b"2")
        put(journal.states, "b", b"2")
        raise RuntimeError
    assert kept(journal.states) == kept(other.states) == {"a": b"1"}
    journal.append("r", 0, [Record("A", b"{}")])
    assert [record.kind for record in other.read("r")] == ["A"]


def test_state_belongs_to_no_run_and_outlives_those_that_are_deleted(journal: Journal) -> None:
    journal.create("r", "w", 1.0, [])
    put(journal.states, "a", b"1")
    journal.append("r", 0, [], "completed")
    journal.delete(["r"])
    assert kept(journal.states) == {"a": b"1"}


def test_a_closed_journal_keeps_nothing(journal: Journal) -> None:
    states = journal.states
    put(states, "a", b"1")
    journal.close()
    with pytest.raises(StorageError):
        states.read(["w"])
    with pytest.raises(StorageError):
        put(states, "a", b"2")


@given(
    sets=st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from([None, b"1", b"2"])), max_size=60
    )
)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_stores_keep_the_same(
    tmp_path_factory: pytest.TempPathFactory, sets: list[tuple[str, str, bytes]]
) -> None:
    stores: list[Journal] = [MemoryJournal(), SqliteJournal(tmp_path_factory.mktemp("same") / "runs.db")]
    try:
        for workflow, key, data in sets:
            for journal in stores:
                put(journal.states, key, data, workflow=workflow)
        memory, sqlite = (journal.states for journal in stores)
        assert list(memory.read("ab")) == list(sqlite.read("ab"))
        assert list(memory.workflows()) == list(sqlite.workflows())
        for workflow in "ab":
            assert list(memory.history(workflow)) == list(sqlite.history(workflow))
    finally:
        for journal in stores:
            journal.close()
