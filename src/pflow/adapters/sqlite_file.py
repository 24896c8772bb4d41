"""Opens, makes, upgrades and sets aside the database file of the journal; knows no runs."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from pflow.core.errors import CorruptError, StorageError
from pflow.core.file.atomic import locked, make_folder, set_aside, sync_folder
from pflow.core.file.os_call import NOFOLLOW, not_regular, quietly, storage_error
from pflow.core.file.trust import check_trust

T = TypeVar("T")

APPLICATION = 0x70666C77
"""Marks a database as ours: "pflw"."""

SCHEMA = (
    """
    CREATE TABLE runs (
        key INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL UNIQUE,
        workflow TEXT NOT NULL,
        status TEXT NOT NULL,
        started_at REAL NOT NULL,
        ended_at REAL,
        owner TEXT,
        cancel INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX runs_cancel ON runs (owner) WHERE cancel = 1;
    -- id is the run's key and the event's number in one, `key << 32 | seq`: a table in the order of one
    -- integer takes half the time to append to, and still fences every number of every run.
    CREATE TABLE events (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, data BLOB NOT NULL);
    CREATE TABLE run_values (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL);
    CREATE UNIQUE INDEX run_values_digest ON run_values (run, digest);
    CREATE TABLE cache (key TEXT PRIMARY KEY, data BLOB NOT NULL, size INTEGER NOT NULL, used INTEGER NOT NULL);
    CREATE INDEX cache_used ON cache (used, size);
    """,
    """
    ALTER TABLE runs ADD COLUMN wake_at REAL;
    ALTER TABLE runs ADD COLUMN mail INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX runs_waiting ON runs (key) WHERE status = 'waiting';
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY,
        run INTEGER NOT NULL,
        key TEXT NOT NULL,
        data BLOB NOT NULL,
        sender TEXT NOT NULL,
        via TEXT NOT NULL,
        at REAL NOT NULL
    );
    CREATE UNIQUE INDEX inbox_key ON inbox (run, key);
    """,
    """
    CREATE TABLE schedules (name TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE ticks (
        schedule TEXT NOT NULL,
        due REAL NOT NULL,
        outcome TEXT NOT NULL,
        at REAL NOT NULL,
        run_id TEXT NOT NULL,
        tries INTEGER NOT NULL,
        note TEXT NOT NULL,
        asked INTEGER NOT NULL,
        owner TEXT NOT NULL,
        PRIMARY KEY (schedule, due)
    ) WITHOUT ROWID;
    CREATE INDEX ticks_run ON ticks (run_id) WHERE run_id != '';
    """,
    """
    CREATE TABLE state (
        id INTEGER PRIMARY KEY,
        workflow TEXT NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        value BLOB,
        run_id TEXT NOT NULL,
        at REAL NOT NULL
    );
    CREATE UNIQUE INDEX state_version ON state (workflow, key, version);
    """,
    """
    ALTER TABLE runs ADD COLUMN ticket INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE runs ADD COLUMN leased INTEGER NOT NULL DEFAULT 0;
    """,
)
"""Scripts, each of which takes a database from the version that is its index to the next."""

_COLUMNS = (
    {
        "runs": "key, run_id, workflow, status, started_at, ended_at, owner, cancel",
        "events": "id, kind, data",
        "run_values": "id, run, digest, data",
        "cache": "key, data, size, used",
    },
    {"runs": "wake_at, mail", "inbox": "id, run, key, data, sender, via, at"},
    {
        "schedules": "name, data",
        "ticks": "schedule, due, outcome, at, run_id, tries, note, asked, owner",
    },
    {"state": "id, workflow, key, version, value, run_id, at"},
    {"runs": "ticket, leased"},
)
"""What each script makes, to tell our tables from others."""

# Small appends cost the same as with 4 kB pages, values of a megabyte a third less.
_PAGE_SIZE = 8192
_WAL_PAGES = 512
_BUSY_SECONDS = 30.0
_TRIES = 8
"""How often to open a file that other processes make and set aside meanwhile."""

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""How a database fails; the last two when the driver cannot read a string or a number of a damaged one."""


def open_database(
    path: Path, notices: list[str], *, full_sync: bool, schema: Sequence[str] = SCHEMA
) -> sqlite3.Connection:
    """A connection to the journal's file, made if missing; a broken file is set aside with a notice."""
    try:
        make_folder(path.parent)
        for _ in range(_TRIES):
            _check_files(path, notices)
            if not path.exists():
                with locked(path):
                    if not path.exists():
                        _clear(path, notices)
                        _make(path, schema)
            try:
                return _connect(path, notices, full_sync, schema)
            except FileNotFoundError:
                continue
            except DATABASE_ERRORS as error:
                if not path.exists():
                    continue  # another process has just set it aside
                if not is_broken(error):
                    raise
                with locked(path):
                    _set_aside_if_broken(path, notices, schema)
        raise StorageError(f"the journal `{path}` keeps getting damaged", suggestions=["check the disk"])
    except DATABASE_ERRORS as error:
        raise sqlite_error(path, error) from error
    except OSError as error:
        raise storage_error("open", path, error) from error


def open_readonly(path: Path) -> sqlite3.Connection:
    """A connection for a home that cannot be written to: sees what reached the file, not what is in its log.

    A journal of an earlier version is copied into memory, and upgraded there.
    """
    database = _plain_connect(path, "mode=ro&immutable=1")
    version = _pragma(database, "user_version")
    if not 0 < version < len(SCHEMA):
        return database
    with closing(database):
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        copy.text_factory = _decode
        database.backup(copy)
    _upgrade(copy, version, SCHEMA)
    return copy


def open_empty() -> sqlite3.Connection:
    """A journal without runs, in memory."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    _upgrade(database, 0, SCHEMA)
    return database


def is_broken(error: Exception) -> bool:
    """Whether the error says that the file itself is damaged."""
    return not isinstance(error, sqlite3.Error) or _code(error) in _BROKEN


def unless_broken(read: Callable[[], T], otherwise: T) -> T:
    """What `read` finds in a database, or `otherwise` if the file itself is damaged there."""
    try:
        return read()
    except DATABASE_ERRORS as error:
        if not is_broken(error):
            raise
        return otherwise


def file_identity(name: str) -> tuple[int, int] | None:
    """What tells a file from another that has taken its name; None if there is none."""
    try:
        found = os.stat(name)  # noqa: PTH116 - for every append, and a Path takes twice the time
    except OSError:
        return None
    return found.st_dev, found.st_ino


def set_aside_database(path: Path, notices: list[str]) -> CorruptError:
    """Move a broken database and its log out of the way; the error to raise about it."""
    with locked(path):
        try:
            aside = _move_aside(path, notices)
        except StorageError as error:
            return CorruptError(f"the journal `{path}` is damaged; {error.message}", suggestions=error.suggestions)
    return CorruptError(
        f"the journal `{path}` is damaged; it was set aside as `{aside.name}`",
        details={"file": str(path), "aside": str(aside)},
        suggestions=["new runs go into a new journal; `sqlite3` and its `.recover` may save old ones"],
    )


def sqlite_error(path: Path, error: Exception) -> StorageError:
    """What went wrong with the database, for people."""
    reason, advice = {
        sqlite3.SQLITE_FULL: ("the disk is full", "free some space, or set PFLOW_HOME to a directory on another disk"),
        sqlite3.SQLITE_READONLY: ("it cannot be written to", ""),
        sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", ""),
        sqlite3.SQLITE_BUSY: (
            f"another process kept it locked for {_BUSY_SECONDS:.0f} seconds",
            "wait for the other process, or end it",
        ),
        sqlite3.SQLITE_IOERR: ("the disk failed or is full", "free some space, and check the disk"),
    }.get(_code(error), (str(error), ""))
    return StorageError(
        f"the journal `{path}` failed: {reason}",
        details={"file": str(path), "sqlite": getattr(error, "sqlite_errorname", None)},
        suggestions=[
            advice or f"make `{path.parent}` writable for you, or set PFLOW_HOME to a directory that is",
        ],
    )


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


def _companions(path: Path) -> list[Path]:
    return [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm", "-journal")]


def _check_files(path: Path, notices: list[str]) -> None:
    """SQLite would follow a link, and gives its log the permissions of the file."""
    for file in (path, *_companions(path)):
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise storage_error("read", file, error) from error
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise not_regular(file)
        check_trust(file, found)
        if sys.platform != "win32" and found.st_mode & 0o077:
            try:
                # Not through a descriptor: closing it would take SQLite's own locks from this process.
                file.chmod(0o600)
            except OSError as error:
                notices.append(f"other users can read `{file}`: {error.strerror}")
            else:
                notices.append(f"`{file}` was readable by other users; now only you can read it")


def _clear(path: Path, notices: list[str]) -> None:
    """Take the log of a file that is gone out of the way: SQLite would mix it into the new one."""
    for file in _companions(path):
        if file.exists():
            aside = set_aside(file)
            notices.append(
                f"`{file.name}` was left over from a journal that is gone; it was set aside as `{aside.name}`"
            )


def _make(path: Path, schema: Sequence[str]) -> None:
    """Make the whole database under another name first: an empty or half-made one never has the real name."""
    temp = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    os.close(os.open(temp, os.O_RDWR | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600))
    try:
        with closing(_plain_connect(temp, "mode=rw")) as database:
            database.execute("PRAGMA journal_mode = MEMORY")
            database.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
            database.execute("PRAGMA auto_vacuum = INCREMENTAL")
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            _upgrade(database, 0, schema)
        _mark_wal(temp)
        temp.replace(path)
    finally:
        quietly(os.unlink, temp)
    sync_folder(path.parent)


def _mark_wal(file: Path) -> None:
    """Write into the header of a closed database that it uses a log.

    The statement for this would leave a log behind if it were killed, and where several processes give it at
    once, SQLite tells all but one that the file is locked, without waiting.
    """
    with file.open("r+b") as header:
        header.seek(18)
        header.write(b"\x02\x02")
        header.flush()
        os.fsync(header.fileno())


def _plain_connect(path: Path, mode: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"file:{quote(os.fsencode(path))}?{mode}",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )
    database.text_factory = _decode
    return database


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def _connect(path: Path, notices: list[str], full_sync: bool, schema: Sequence[str]) -> sqlite3.Connection:
    database = _plain_connect(path, "mode=rw")
    try:
        version = _check(path, database, schema)
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA synchronous = {'FULL' if full_sync else 'NORMAL'}")
        database.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        database.execute(f"PRAGMA journal_size_limit = {_WAL_PAGES * _PAGE_SIZE}")
        if version < len(schema):
            _migrate(path, database, schema, notices)
    except BaseException:  # closed, and raised again
        database.close()
        raise
    return database


def _check(path: Path, database: sqlite3.Connection, schema: Sequence[str]) -> int:
    """Look closely enough to know that the file is ours and whole; its version."""
    try:
        return _version(path, database, schema)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise _broken("its format or its tables are not ours") from error
        raise


def _version(path: Path, database: sqlite3.Connection, schema: Sequence[str]) -> int:
    _check_whole(path, database)
    version = _pragma(database, "user_version")
    if _pragma(database, "application_id") != APPLICATION or version < 1:
        raise _broken("this is not a journal")
    if version > len(schema):
        raise StorageError(
            f"the journal `{path}` has version {version}; this pflow knows up to {len(schema)}",
            suggestions=["update pflow, or set PFLOW_HOME to another directory"],
        )
    for made in _COLUMNS[:version]:
        for table, columns in made.items():
            database.execute(f"SELECT {columns} FROM {table} LIMIT 0").fetchone()
    database.execute("SELECT max(key) FROM runs").fetchone()
    return version


def _check_whole(path: Path, database: sqlite3.Connection) -> None:
    """A file that was cut off opens well and fails at some later page; better to know at once."""
    log = path.with_name(f"{path.name}-wal")
    if path.stat().st_size == 0:
        raise _broken("it is empty")
    if log.exists() and log.stat().st_size:
        return  # the log may hold what the file does not have yet
    if path.stat().st_size < _pragma(database, "page_count") * _pragma(database, "page_size"):
        raise _broken("it was truncated")


def _broken(reason: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _upgrade(database: sqlite3.Connection, version: int, schema: Sequence[str]) -> None:
    for script in schema[version:]:
        version += 1
        database.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {version}; COMMIT;")


def _migrate(path: Path, database: sqlite3.Connection, schema: Sequence[str], notices: list[str]) -> None:
    with locked(path):
        version = _pragma(database, "user_version")
        if version >= len(schema):
            return  # another process did it while we waited
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        backup = path.with_name(f"{path.name}.v{version}-{stamp}")
        # SQLite would make the copy readable for everybody, but fills an empty file that is there.
        os.close(os.open(backup, os.O_RDWR | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600))
        database.execute("VACUUM INTO ?", (str(backup),))
        _upgrade(database, version, schema)
        notices.append(f"the journal was upgraded; `{backup.name}` holds it as it was")


def _set_aside_if_broken(path: Path, notices: list[str], schema: Sequence[str]) -> None:
    """Under the lock: another process may have put a good file there since."""
    if not path.exists():
        return
    try:
        with closing(_plain_connect(path, "mode=rw")) as database:
            _check(path, database, schema)
    except DATABASE_ERRORS as error:
        if is_broken(error):
            _move_aside(path, notices)


def _move_aside(path: Path, notices: list[str]) -> Path:
    aside = set_aside(path)
    for file, target in zip(_companions(path), _companions(aside), strict=True):
        if file.exists():
            file.replace(target)
    notices.append(f"the journal `{path}` was damaged and set aside as `{aside.name}`; a new one was started")
    return aside
