"""What every storage of schedules does, shown on each of them by the same tests."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pflow.adapters.postgres.timetable import PostgresTimetable
from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.adapters.sqlite_schedules import SqliteSchedules
from pflow.core.errors import ExistsError, NotFoundError
from pflow.engine.ports import Schedules, Tick, Timetable
from pflow.testing import MemorySchedules, ScheduleStore

Open = Callable[[], Schedules]


journals: list[SqliteJournal] = []
"""What a test has opened."""


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while journals:
        journals.pop().close()


def sqlite_schedules(folder: Path) -> SqliteSchedules:
    """Schedules of a home, as one more process would open them."""
    journals.append(SqliteJournal(folder / "runs.db"))
    return SqliteSchedules(journals[-1].database)


@pytest.fixture(params=["memory", "sqlite"])
def open_schedules(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same schedules once more, as another process would."""
    store = ScheduleStore()
    opened: list[Schedules] = []

    def make() -> Schedules:
        opened.append(MemorySchedules(store) if request.param == "memory" else sqlite_schedules(tmp_path / "h"))
        return opened[-1]

    yield make
    for schedules in opened:
        schedules.close()


OpenTimetable = Callable[[], Timetable]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
def open_timetable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenTimetable]:
    """Opens the same schedules once more, without what became of their due times."""
    if request.param == "postgres":
        place, server = request.getfixturevalue("a_place"), request.getfixturevalue("postgres")
        with closing(server.journal(place)) as journal:
            yield lambda: PostgresTimetable(journal.database, tmp_path.name)
        return
    store = ScheduleStore()
    opened: list[Schedules] = []

    def make() -> Schedules:
        opened.append(MemorySchedules(store) if request.param == "memory" else sqlite_schedules(tmp_path / "h"))
        return opened[-1]

    yield make
    for schedules in opened:
        schedules.close()


@pytest.fixture
def schedules(open_schedules: Open) -> Schedules:
    return open_schedules()


def tick(due: float, outcome: Any = "claimed", **fields: Any) -> Tick:
    return Tick(**{"schedule": "s", "due": due, "outcome": outcome, "at": 1.0, **fields})


def stored(schedules: Schedules, **query: Any) -> list[tuple[float, str]]:
    return [(one.due, one.outcome) for one in schedules.ticks(**query)]


# Schedules


def test_schedules_are_kept_by_name(open_timetable: OpenTimetable) -> None:
    schedules = open_timetable()
    assert schedules.all() == {}
    schedules.add("b", b"2")
    schedules.add("a", b"1")
    assert list(open_timetable().all().items()) == [("a", b"1"), ("b", b"2")]
    with pytest.raises(ExistsError):
        schedules.add("a", b"3")
    schedules.change("a", lambda data: data + b"0")
    assert schedules.all()["a"] == b"10"


def test_a_change_that_fails_changes_nothing(open_timetable: OpenTimetable) -> None:
    def fail(data: bytes) -> bytes:
        raise ZeroDivisionError

    schedules = open_timetable()
    schedules.add("a", b"1")
    with pytest.raises(ZeroDivisionError):
        schedules.change("a", fail)
    assert schedules.all() == {"a": b"1"}


def test_a_schedule_that_is_removed_takes_its_due_times_along(schedules: Schedules) -> None:
    schedules.add("s", b"")
    schedules.add("other", b"")
    assert schedules.put(tick(1.0))
    assert schedules.put(tick(1.0, schedule="other"))
    schedules.remove("s")
    assert list(schedules.all()) == ["other"]
    assert [one.schedule for one in schedules.ticks()] == ["other"]
    schedules.add("s", b"")
    assert stored(schedules, schedule="s") == []


@pytest.mark.parametrize("name", ["x", "\ud800", "'; DROP TABLE schedules; --", "\x1b[31m"])
def test_a_schedule_that_is_not_there_is_not_found(open_timetable: OpenTimetable, name: str) -> None:
    schedules = open_timetable()
    schedules.add("y", b"")
    for call in (schedules.remove, lambda name: schedules.change(name, bytes)):
        with pytest.raises(NotFoundError) as caught:
            call(name)
        assert caught.value.message.isprintable()


# Due times


def test_a_due_time_is_claimed_once(open_schedules: Open) -> None:
    first, second = open_schedules(), open_schedules()
    assert first.put(tick(10.0, run_id="a"))
    assert not second.put(tick(10.0, run_id="b"))
    assert not first.put(tick(10.0, run_id="c"))
    assert second.put(tick(11.0, run_id="d"))
    assert [(one.due, one.run_id, one.alive) for one in first.ticks()] == [(11.0, "d", True), (10.0, "a", True)]


def test_everything_about_a_due_time_is_kept(schedules: Schedules) -> None:
    whole = tick(1.5, "failed", at=3.25, run_id="r", tries=2, note="é: no", asked=True)
    assert schedules.put(whole)
    assert schedules.ticks() == [whole]


def test_what_another_process_changed_meanwhile_is_not_overwritten(open_schedules: Open) -> None:
    first, second = open_schedules(), open_schedules()
    first.put(tick(1.0, run_id="r"))
    [seen] = second.ticks()
    assert second.put(seen._replace(outcome="claimed"), seen), "the claim is taken over"
    assert not first.put(seen._replace(outcome="lost"), seen)
    [now] = first.ticks()
    assert (now.outcome, now.owner != seen.owner) == ("claimed", True)
    assert second.put(now._replace(outcome="completed"), now)
    assert not second.put(now._replace(outcome="lost"), now)
    [last] = first.ticks()
    assert (last.outcome, last.owner, last.alive) == ("completed", "", False)


def test_a_claim_lives_as_long_as_its_process(open_schedules: Open) -> None:
    first, second = open_schedules(), open_schedules()
    first.put(tick(1.0))
    second.put(tick(2.0))
    first.close()
    assert [(one.due, one.alive) for one in second.ticks()] == [(2.0, True), (1.0, False)]


def test_due_times_can_be_asked_for_in_many_ways(schedules: Schedules) -> None:
    for due, outcome in ((1.0, "completed"), (2.0, "queued"), (3.0, "missed"), (4.0, "failed")):
        schedules.put(tick(due, outcome))
    schedules.put(tick(2.5, "waiting", schedule="t"))
    assert stored(schedules) == [
        (4.0, "failed"),
        (3.0, "missed"),
        (2.5, "waiting"),
        (2.0, "queued"),
        (1.0, "completed"),
    ]
    assert stored(schedules, schedule="s", since=2.0) == [(4.0, "failed"), (3.0, "missed")]
    assert stored(schedules, outcomes=("queued", "waiting")) == [(2.5, "waiting"), (2.0, "queued")]
    assert stored(schedules, schedule="s", limit=1) == [(4.0, "failed")]


def test_runs_are_found_by_their_id(schedules: Schedules) -> None:
    schedules.put(tick(1.0, run_id="r1"))
    schedules.put(tick(2.0, "completed", run_id="r2", schedule="t"))
    schedules.put(tick(3.0, "missed"))
    many = [f"x{number}" for number in range(2000)]
    found = schedules.started(["r1", "r2", "", "\ud800", *many])
    assert {run_id: one.schedule for run_id, one in found.items()} == {"r1": "s", "r2": "t"}


def test_only_what_is_done_with_is_forgotten(schedules: Schedules) -> None:
    kept = ("claimed", "queued", "waiting", "untold")
    for due, outcome in enumerate((*kept, "completed", "missed", "lost", "refused", "skipped", "failed")):
        schedules.put(tick(float(due), outcome))
    schedules.put(tick(100.0, "completed"))
    schedules.forget(50.0)
    assert [outcome for _, outcome in stored(schedules)] == ["completed", *reversed(kept)]


def test_what_is_stored_together_is_stored_together(open_schedules: Open) -> None:
    first, second = open_schedules(), open_schedules()
    with first.together():
        assert first.put(tick(1.0))
        assert first.put(tick(2.0, "missed"))
    assert stored(second) == [(2.0, "missed"), (1.0, "claimed")]


# On disk


def test_who_looks_and_stores_together_is_alone(tmp_path: Path) -> None:
    """Many decide at once by what is stored; each sees what those before it have stored."""
    sqlite_schedules(tmp_path).add("s", b"")  # the file is made

    def add_one(number: int) -> None:
        schedules = sqlite_schedules(tmp_path)
        with schedules.together():
            count = len(schedules.ticks())
            assert schedules.put(tick(float(count)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_one, range(24)))
    assert len(sqlite_schedules(tmp_path).ticks()) == 24


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    schedules = sqlite_schedules(tmp_path)
    with pytest.raises(ZeroDivisionError), schedules.together():
        schedules.put(tick(1.0))
        raise ZeroDivisionError
    assert stored(schedules) == []


def test_of_many_threads_one_claims(tmp_path: Path) -> None:
    opened = [sqlite_schedules(tmp_path) for _ in range(8)]
    barrier = threading.Barrier(8)

    def claim(schedules: SqliteSchedules) -> bool:
        barrier.wait()
        return schedules.put(tick(1.0))

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(claim, opened)) == [False] * 7 + [True]


def test_a_claim_dies_with_a_process_that_is_killed(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        sqlite_schedules(tmp_path).put(tick(1.0, run_id="r"))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    schedules = sqlite_schedules(tmp_path)
    [found] = schedules.ticks()
    assert (found.outcome, found.alive) == ("claimed", False)
    assert schedules.put(found._replace(outcome="lost"), found)


def test_reading_makes_no_file(tmp_path: Path) -> None:
    schedules = sqlite_schedules(tmp_path / "h")
    assert (schedules.all(), schedules.ticks(), schedules.started(["r"])) == ({}, [], {})
    assert not (tmp_path / "h").exists()
