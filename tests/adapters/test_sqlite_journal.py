"""What only a journal on disk can show: processes that die, files that break, disks that fill."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pflow.adapters.sqlite_cache import SqliteCache
from pflow.adapters.sqlite_file import SCHEMA, open_database
from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import (
    ConflictError,
    CorruptError,
    DamagedError,
    PflowError,
    SecurityError,
    StorageError,
    UsageError,
)
from pflow.engine.ports import Record, Status
from tests.core.file.forking import in_child, killed_while, together
from tests.quick import examples

A, B, C = (Record(kind, f'{{"kind":"{kind}"}}'.encode()) for kind in "ABC")
MEGABYTE = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "h" / "runs.db"


@pytest.fixture
def journal(path: Path) -> Iterator[SqliteJournal]:
    journal = SqliteJournal(path)
    yield journal
    journal.close()


def kinds(journal: SqliteJournal, run_id: str) -> str:
    return "".join(record.kind for record in journal.read(run_id))


def filled(path: Path, runs: int = 3) -> None:
    """A closed journal with ended runs `r0`, `r1`, …, each with enough events to fill pages."""
    journal = SqliteJournal(path)
    for number in range(runs):
        journal.create(f"r{number}", "w", 1.0, [A])
        journal.append(f"r{number}", 1, [Record("E", b"x" * 500)] * 40)
        journal.append(f"r{number}", 41, [Record("V", b"{}", (("d", b"v" * 20_000),))], "completed")
    journal.close()


def tamper(path: Path, statement: str, *params: object) -> None:
    database = sqlite3.connect(path)
    database.execute(statement, params)
    database.commit()
    database.close()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


# The file


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o027])
def test_everything_is_for_its_owner_alone_whatever_the_umask(path: Path, umask: int) -> None:
    def work() -> object:
        os.umask(umask)
        journal = SqliteJournal(path)
        journal.create("r", "w", 1.0, [A])
        files = [path.parent, *path.parent.rglob("*")]
        return {"*.lock" if file.suffix == ".lock" else file.name: oct(file.stat().st_mode)[-3:] for file in files}

    assert in_child(work) == {
        "h": "700",
        "owners": "700",
        "runs.db": "600",
        "runs.db-wal": "600",
        "runs.db-shm": "600",
        "*.lock": "600",
    }


def test_a_journal_that_others_can_read_is_restricted_with_a_notice(path: Path) -> None:
    filled(path)
    path.chmod(0o644)
    journal = SqliteJournal(path)
    assert len(journal.runs()) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(journal.notices) == 1 and "readable by other users" in journal.notices[0]
    journal.close()


def test_looking_into_a_home_without_a_journal_makes_none(journal: SqliteJournal, path: Path) -> None:
    assert journal.runs() == [] and SqliteCache(journal.database).get("k") is None
    assert not path.parent.exists()


def test_large_values_are_stored_once_and_nothing_is_left_beside_the_file(journal: SqliteJournal, path: Path) -> None:
    journal.create("r", "w", 1.0, [])
    for number in range(20):
        value = os.urandom(MEGABYTE)
        journal.append("r", number, [Record("V", b"{}", ((f"d{number}", value),))])
        assert path.with_name("runs.db-wal").stat().st_size < 8 * MEGABYTE
    assert journal.value("r", "d19") == value
    journal.close()
    assert path.stat().st_size <= 1.05 * 20 * MEGABYTE
    assert names(path.parent) == {"runs.db", "owners"}


def test_deleting_gives_the_space_back(journal: SqliteJournal, path: Path) -> None:
    journal.create("r", "w", 1.0, [Record("V", b"{}", (("d", os.urandom(4 * MEGABYTE)),))])
    journal.append("r", 1, [], "completed")
    journal.delete(["r"])
    journal.close()
    assert path.stat().st_size < MEGABYTE


def test_a_journal_can_be_made_to_survive_a_power_cut(path: Path) -> None:
    journal = SqliteJournal(path, sync="full")
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [B])
    assert kinds(journal, "r") == "AB"
    journal.close()
    with pytest.raises(UsageError):
        SqliteJournal(path, sync="sometimes")


# Processes


def test_what_was_appended_survives_a_kill_and_can_be_claimed_at_once(path: Path) -> None:
    def work(ready: Callable[..., Any]) -> None:
        journal = SqliteJournal(path)
        journal.create("r", "w", 1.0, [A])
        journal.append("r", 1, [B, Record("V", b"{}", (("d", b"v" * 100_000),))])
        ready()

    def look() -> None:
        other = SqliteJournal(path)
        assert other.info("r").alive
        with pytest.raises(ConflictError):
            other.claim("r")
        other.close()

    killed_while(work, look)
    journal = SqliteJournal(path)
    assert not journal.info("r").alive
    assert journal.claim("r") == 3
    assert kinds(journal, "r") == "ABV"
    assert journal.value("r", "d") == b"v" * 100_000
    assert len(list((path.parent / "owners").iterdir())) == 1, "the dead owner's file is gone"
    journal.append("r", 3, [C], "completed")
    journal.close()


def test_one_of_eight_claimers_wins(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.create("r", "w", 1.0, [A])
    journal.close()

    def work(index: int) -> object:
        mine = SqliteJournal(path)
        mine.append("r", mine.claim("r"), [Record("W", b"%d" % index)])
        kept.append(mine)
        return index

    kept: list[SqliteJournal] = []
    results = together(8, work)
    winners = [result for result in results if isinstance(result, int)]
    assert len(winners) == 1 and results.count("error:already_running") == 7
    journal = SqliteJournal(path)
    assert [record.data for record in journal.read("r")][1:] == [b"%d" % winners[0]]
    journal.close()


def test_eight_processes_lose_no_event_and_no_run(path: Path) -> None:
    def work(index: int) -> object:
        journal = SqliteJournal(path)
        for number in range(3):
            run_id = f"{index}-{number}"
            journal.create(run_id, "w", 1.0, [A])
            for seq in range(1, 30):
                journal.append(run_id, seq, [B])
            journal.append(run_id, 30, [Record("V", b"{}", (("d", b"v" * 50_000),))], "completed")
        journal.close()
        return journal.notices

    assert together(8, work) == [[]] * 8
    journal = SqliteJournal(path)
    assert {(info.status, info.events) for info in journal.runs()} == {("completed", 31)}
    assert len(journal.runs()) == 24
    assert kinds(journal, "7-2") == "A" + "B" * 29 + "V"
    journal.close()


def test_an_owner_whose_lease_was_removed_cannot_write_any_more(path: Path) -> None:
    late, thief = SqliteJournal(path), SqliteJournal(path)
    late.create("r", "w", 1.0, [A])
    for lease in (path.parent / "owners").iterdir():
        lease.unlink()
    assert thief.claim("r") == 1
    late_writes: list[tuple[list[Record], Status | None]] = [
        ([B], None),
        ([B, Record("V", b"{}", (("d", b"v"),))], None),
        ([B], "completed"),
    ]
    for records, status in late_writes:
        with pytest.raises(ConflictError):
            late.append("r", 1, records, status)
    assert kinds(thief, "r") == "A"
    thief.append("r", 1, [C])
    assert kinds(late, "r") == "AC"
    late.close()
    thief.close()


def test_many_are_cancelled_across_processes(path: Path) -> None:
    owner = SqliteJournal(path)
    owner.create("r", "w", 1.0, [A])

    def work() -> object:
        SqliteJournal(path).request_cancel("r")
        return "asked"

    assert in_child(work) == "asked"
    assert owner.cancel_requests(["r"]) == {"r"}
    owner.close()


# Broken files


def broken_files() -> dict[str, bytes]:
    foreign = sqlite3.connect(":memory:")
    foreign.execute("CREATE TABLE runs (x)")
    other = foreign.serialize()
    foreign.close()
    return {
        "empty": b"",
        "garbage": os.urandom(20_000),
        "text": b"not a database, " * 1000,
        "one byte": b"S",
        "header only": b"SQLite format 3\0",
        "another database": other,
        "pickle": b"\x80\x04\x95" + b"\0" * 5000,
    }


@pytest.mark.parametrize("kind", broken_files())
def test_a_broken_journal_is_set_aside_and_a_new_one_begun(path: Path, kind: str) -> None:
    content = broken_files()[kind]
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    path.chmod(0o600)
    journal = SqliteJournal(path)
    assert journal.runs() == []
    asides = [file for file in path.parent.iterdir() if ".corrupt-" in file.name]
    assert [file.read_bytes() for file in asides] == [content]
    assert len(journal.notices) == 1 and asides[0].name in journal.notices[0]
    journal.create("r", "w", 1.0, [A])
    journal.close()
    again = SqliteJournal(path)
    assert kinds(again, "r") == "A" and again.notices == []
    again.close()


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_a_journal_that_was_cut_off_is_set_aside(path: Path, kept: float) -> None:
    filled(path)
    size = path.stat().st_size
    os.truncate(path, int(size * kept))
    journal = SqliteJournal(path)
    journal.create("r", "w", 1.0, [A])
    assert len(journal.notices) == 1
    assert [info.run_id for info in journal.runs()] == ["r"]
    journal.close()


def test_a_journal_in_a_format_that_sqlite_does_not_know_is_set_aside(path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:
        file.seek(44)
        file.write((5).to_bytes(4))
    journal = SqliteJournal(path)
    assert journal.runs() == []
    assert len(journal.notices) == 1
    journal.close()


def test_a_log_without_its_file_is_set_aside_too(path: Path) -> None:
    def work(ready: Callable[..., Any]) -> None:
        journal = SqliteJournal(path)
        journal.create("r", "w", 1.0, [A])
        ready()

    killed_while(work, lambda: None)
    os.truncate(path, 0)
    log = path.with_name("runs.db-wal").read_bytes()
    journal = SqliteJournal(path)
    assert journal.runs() == []
    assert [
        file.read_bytes() for file in path.parent.iterdir() if file.name.endswith("-wal") and "corrupt" in file.name
    ] == [log]
    journal.close()


def test_eight_processes_set_a_broken_journal_aside_once(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"garbage" * 1000)

    def work(index: int) -> object:
        journal = SqliteJournal(path)
        journal.create(f"r{index}", "w", 1.0, [A])
        return len([notice for notice in journal.notices if "set aside" in notice])

    assert together(8, work).count(True) == 1
    journal = SqliteJournal(path)
    assert len(journal.runs()) == 8
    assert sum(".corrupt-" in file.name for file in path.parent.iterdir()) == 1
    journal.close()


def test_eight_processes_make_one_journal(path: Path) -> None:
    def work(index: int) -> object:
        journal = SqliteJournal(path)
        journal.create(f"r{index}", "w", 1.0, [A])
        return journal.notices

    assert together(8, work) == [[]] * 8
    journal = SqliteJournal(path)
    assert len(journal.runs()) == 8
    journal.close()


USER_VERSION = slice(60, 64)
"""Where the header of an SQLite file has the version of its tables."""


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=40)), min_size=1, max_size=4))
def test_whatever_is_damaged_only_typed_errors_come_and_new_runs_go_on(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[float, bytes]]
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "h" / "runs.db"
    filled(path)
    content = bytearray(path.read_bytes())
    version = content[USER_VERSION]
    for where, what in damages:
        start = int(where * (len(content) - len(what)))
        content[start : start + len(what)] = what
    content[USER_VERSION] = version  # a journal of a newer version is left alone, and so is one that looks like it
    path.write_bytes(content)
    journal = SqliteJournal(path)
    calls: list[Callable[[], object]] = [
        lambda: [journal.read(info.run_id) for info in journal.runs()],
        lambda: journal.value("r1", "d"),
        lambda: journal.claim("r1"),
        lambda: SqliteCache(journal.database).put("k", b"1"),
        lambda: journal.delete(["r0"]),
    ]
    for call in calls:
        try:
            call()
        except PflowError as error:
            assert error.message
    for attempt in range(3):
        try:
            journal.create(f"new{attempt}", "w", 1.0, [A])
            journal.append(f"new{attempt}", 1, [B])
            break
        except StorageError:
            assert attempt < 2, "after one failure the broken file is out of the way"
    assert kinds(journal, f"new{attempt}") == "AB"
    journal.close()


# Damaged runs


@pytest.mark.parametrize(
    ("statement", "params"),
    [
        ("DELETE FROM events WHERE id = 2 << 32 | 7", ()),
        ("DELETE FROM events WHERE id = 2 << 32", ()),
        ("UPDATE events SET data = 'text' WHERE id = 2 << 32 | 3", ()),
        ("UPDATE events SET data = 5 WHERE id = 2 << 32 | 3", ()),
        ("UPDATE events SET kind = x'ff' WHERE id = 2 << 32 | 3", ()),
    ],
)
def test_a_damaged_run_is_marked_and_the_others_are_fine(path: Path, statement: str, params: tuple[Any, ...]) -> None:
    filled(path)
    tamper(path, statement, *params)
    journal = SqliteJournal(path)
    for _ in range(2):
        with pytest.raises(DamagedError):
            journal.read("r1")
    assert [(info.run_id, info.status) for info in journal.runs()] == [
        ("r2", "completed"),
        ("r1", "damaged"),
        ("r0", "completed"),
    ]
    with pytest.raises(DamagedError):
        journal.claim("r1")
    assert len(journal.read("r0")) == len(journal.read("r2")) == 42
    journal.delete(["r1"])
    journal.create("new", "w", 1.0, [A])
    journal.close()


def test_a_page_of_one_run_that_was_overwritten_damages_that_run_alone(path: Path) -> None:
    journal = SqliteJournal(path)
    for number in range(3):
        journal.create(f"r{number}", "w", 1.0, [])
        for seq in range(60):
            journal.append(f"r{number}", seq, [Record("E", b"run-%d-%03d" % (number, seq) + b"." * 900)])
        journal.append(f"r{number}", 60, [], "completed")
    journal.close()
    content = path.read_bytes()
    page = content.index(b"run-1-030") // 8192
    with open(path, "r+b") as file:
        file.seek(page * 8192)
        file.write(b"\xff" * 8192)
    journal = SqliteJournal(path)
    with pytest.raises(DamagedError):
        journal.read("r1")
    assert len(journal.read("r0")) == len(journal.read("r2")) == 60
    assert journal.info("r1").status == "damaged"
    assert len(journal.runs()) == 3
    journal.close()


@pytest.mark.parametrize(
    "change",
    [
        "status = 'odd'",
        "status = x'00'",
        "started_at = 'never'",
        "workflow = x'ff'",
        "owner = 'nobody'",
        "owner = 5",
        "cancel = 'x'",
        "key = 1 << 62",
        "workflow = CAST(x'ff' AS TEXT)",
    ],
)
def test_a_hostile_row_breaks_no_list(path: Path, change: str) -> None:
    filled(path)
    tamper(path, f"UPDATE runs SET {change} WHERE run_id = 'r1'")
    journal = SqliteJournal(path)
    assert sorted(info.run_id for info in journal.runs()) == ["r0", "r1", "r2"]
    assert journal.info("r1").status in ("damaged", "completed")
    assert not journal.info("r1").alive
    journal.close()


def test_a_journal_that_breaks_while_open_is_set_aside(path: Path) -> None:
    journal = SqliteJournal(path)
    journal.create("r", "w", 1.0, [A])
    journal.append("r", 1, [Record("E", b"x" * 5000)] * 20, "completed")
    journal.close()
    journal = SqliteJournal(path)
    assert len(journal.runs()) == 1
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (len(content) - 8192))
    with pytest.raises(CorruptError) as caught:
        for number in range(5):
            journal.create(f"s{number}", "w", 1.0, [Record("E", b"x" * 5000)] * 20)
    assert "set aside" in caught.value.message
    journal.create("t", "w", 1.0, [A])
    assert [info.run_id for info in journal.runs()] == ["t"]
    journal.close()


# Files that are moved, planted or closed to us


def test_a_journal_deleted_while_open_is_begun_anew(journal: SqliteJournal, path: Path) -> None:
    journal.create("r", "w", 1.0, [A])
    path.unlink()
    with pytest.raises(CorruptError, match="was moved, deleted or set aside under run `r`"):
        journal.append("r", 1, [B])
    journal.create("s", "w", 1.0, [A])
    assert [info.run_id for info in journal.runs()] == ["s"]
    assert "moved or deleted" in journal.notices[0]
    assert any(file.name.startswith("runs.db-wal.corrupt-") for file in path.parent.iterdir())
    with pytest.raises(PflowError):
        journal.append("r", 2, [C])


@pytest.mark.parametrize("name", ["runs.db", "runs.db-wal", "runs.db-shm", "runs.db-journal"])
@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_a_planted_link_is_not_followed(path: Path, tmp_path: Path, name: str, kind: str) -> None:
    if name != "runs.db":
        filled(path)
    path.parent.mkdir(exist_ok=True, mode=0o700)
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    if kind == "link":
        path.with_name(name).symlink_to(outside)
    else:
        path.with_name(name).hardlink_to(outside)
    journal = SqliteJournal(path)
    with pytest.raises(SecurityError):
        journal.create("r", "w", 1.0, [A])
    assert outside.read_bytes() == b"kept"
    journal.close()


def test_an_unwritable_home_can_be_read_and_not_written(unwritable: Path) -> None:
    path = unwritable / "runs.db"
    os.chown(unwritable, os.geteuid(), os.getegid())
    unwritable.chmod(0o700)
    filled(path)
    unwritable.chmod(0o555)

    def work() -> object:
        journal = SqliteJournal(path)
        assert len(journal.runs()) == 3
        assert len(journal.read("r1")) == 42
        assert journal.value("r1", "d") == b"v" * 20_000
        assert SqliteCache(journal.database).get("k") is None
        with pytest.raises(StorageError) as caught:
            journal.create("new", "w", 1.0, [A])
        with pytest.raises(StorageError):
            journal.claim("r1")
        journal.close()
        return str(unwritable) in caught.value.message and bool(caught.value.suggestions)

    assert in_child(work, unprivileged=True) is True


def test_an_unwritable_home_without_a_journal_is_empty_and_says_why_it_stays_so(unwritable: Path) -> None:
    def work() -> object:
        journal = SqliteJournal(unwritable / "runs.db")
        assert journal.runs() == []
        with pytest.raises(StorageError) as caught:
            journal.create("new", "w", 1.0, [A])
        journal.close()
        return caught.value.suggestions[0]

    assert "PFLOW_HOME" in str(in_child(work, unprivileged=True))


def test_a_full_disk_loses_nothing_that_was_stored(path: Path) -> None:
    def work() -> object:
        journal = SqliteJournal(path)
        journal.create("r", "w", 1.0, [A])
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        for records in ([Record("V", b"{}", (("d", b"v" * 500_000),))], [Record("E", b"x" * 500_000)]):
            with pytest.raises(StorageError) as caught:
                journal.append("r", 1, records)
            assert str(path) in caught.value.message and caught.value.suggestions
            with pytest.raises(StorageError):
                journal.append("r", 1, records, "completed")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        journal.append("r", 1, [B])
        found = kinds(journal, "r")
        journal.close()
        return found

    assert in_child(work) == "AB"


# Versions

NEXT = "ALTER TABLE runs ADD COLUMN note TEXT"


def test_a_journal_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    filled(path)
    tamper(path, "PRAGMA user_version = 99")
    before = path.read_bytes()
    journal = SqliteJournal(path)
    with pytest.raises(StorageError, match="version 99"):
        journal.create("r", "w", 1.0, [A])
    journal.close()
    assert path.read_bytes() == before
    assert names(path.parent) <= {"runs.db", "owners"}


def test_a_journal_of_an_older_version_is_upgraded_after_a_backup(path: Path) -> None:
    filled(path)
    notices: list[str] = []
    database = open_database(path, notices, full_sync=False, schema=(*SCHEMA, NEXT))
    assert database.execute("SELECT note FROM runs").fetchall() == [(None,)] * 3
    database.close()
    (backup,) = [file for file in path.parent.iterdir() if file.name.startswith(f"runs.db.v{len(SCHEMA)}-")]
    assert backup.name in notices[0]
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    old = sqlite3.connect(backup)
    assert old.execute("SELECT count(*) FROM events").fetchone() == (126,)
    assert old.execute("PRAGMA user_version").fetchone() == (len(SCHEMA),)
    old.close()


def test_eight_processes_upgrade_once(path: Path) -> None:
    filled(path)

    def work(index: int) -> object:
        notices: list[str] = []
        database = open_database(path, notices, full_sync=False, schema=(*SCHEMA, NEXT))
        database.execute("SELECT note FROM runs").fetchall()
        return len(notices)

    assert together(8, work).count(True) == 1


def test_an_upgrade_that_fails_changes_nothing(path: Path) -> None:
    filled(path)
    with pytest.raises(StorageError):
        open_database(path, [], full_sync=False, schema=(*SCHEMA, f"{NEXT}; SELECT no_such_function()"))
    journal = SqliteJournal(path)
    assert len(journal.runs()) == 3
    journal.close()
