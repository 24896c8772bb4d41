"""The full-text index behind discovery: a cache beside the registry that follows the catalogue by itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from pflow import __version__
from pflow.core.errors import PflowError, StorageError
from pflow.core.file.atomic import make_folder
from pflow.core.file.os_call import BINARY, NOFOLLOW, NONBLOCK, is_own_file, quietly
from pflow.planning.catalogue import Catalogue, Key, Texts
from pflow.planning.query_word import split_text

COLUMNS = ("name", "description", "parameters", "outputs", "synonyms")

MAKER = f"pflow {__version__}, words 3"
"""An index that another version made is made again."""

_APPLICATION = 0x70666C64

# Words of each column that count. A long text would outweigh a name by its length alone.
_MOST_WORDS = {"name": 64, "description": 250, "parameters": 250, "outputs": 120, "synonyms": 120, "details": 600}

_TOKENS = "tokenize='porter unicode61 remove_diacritics 2'"

# Details are a table of their own: beside the rest they would count by their length, and push down short texts.
_SCHEMA = (
    "DROP TABLE IF EXISTS items",
    "DROP TABLE IF EXISTS texts",
    "DROP TABLE IF EXISTS details",
    "DROP TABLE IF EXISTS vectors",
    "DROP TABLE IF EXISTS made",
    "CREATE TABLE made (by TEXT NOT NULL)",
    "CREATE TABLE items (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, stamp TEXT NOT NULL, "
    "UNIQUE (kind, name))",
    f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(COLUMNS)}, {_TOKENS})",
    f"CREATE VIRTUAL TABLE details USING fts5(words, {_TOKENS})",
    "CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
)
_BUSY_SECONDS = 5.0
_USABLE_LATER = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
)
"""Problems with access to the file, not with its contents."""

DATABASE_ERRORS = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""How a database fails; the last two when a damaged one holds a string or number that the driver cannot read."""


@contextmanager
def open_index(path: Path | None, catalogue: Catalogue) -> Iterator[sqlite3.Connection]:
    """The index as of now, in the file if that can be kept, else in memory. A broken file is made again.

    Raises `StorageError` only where Python's SQLite cannot search text.
    """
    database = None if path is None else _open_file(path, catalogue)
    if database is None:
        database = sqlite3.connect(":memory:", isolation_level=None)
        try:
            _follow(database, catalogue)
        except sqlite3.OperationalError as error:
            database.close()
            raise StorageError(
                f"this Python's SQLite cannot search text: {error}",
                suggestions=["use a Python whose SQLite has FTS5, as those of python.org and uv do"],
            ) from error
    with closing(database):
        yield database


def _open_file(path: Path, catalogue: Catalogue) -> sqlite3.Connection | None:
    for attempt in (1, 2):
        if not _make_private(path):
            return None
        database = None
        try:
            database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            _follow(database, catalogue)
            return database
        except DATABASE_ERRORS as error:
            if database is not None:
                database.close()
            if attempt == 2 or getattr(error, "sqlite_errorcode", 0) & 0xFF in _USABLE_LATER:
                return None
        discard_index(path)
    return None


def discard_index(path: Path) -> None:
    """Delete the file, which holds nothing that is not known elsewhere, and what could be rolled back into another."""
    for suffix in ("-journal", "-wal", "-shm", ""):
        quietly(os.unlink, path.with_name(path.name + suffix))


def _make_private(path: Path) -> bool:
    """Whether there is a file that this user alone can read and write."""
    try:
        make_folder(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY, 0o600)
    except (OSError, PflowError):
        return False
    try:
        found = os.fstat(fd)
        if not is_own_file(found):
            return False
        if found.st_mode & 0o077 and os.name == "posix":
            os.fchmod(fd, 0o600)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def _follow(database: sqlite3.Connection, catalogue: Catalogue) -> None:
    """Make the index hold what the catalogue does, reading only what changed."""
    stamps = catalogue.stamps()
    if _is_ours(database) and _is_same(database, stamps):
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Another process may have done it while this one waited.
        if not _is_ours(database):
            for statement in _SCHEMA:
                database.execute(statement)
            database.execute("INSERT INTO made VALUES (?)", (MAKER,))
        items = database.execute("SELECT * FROM items")
        known: dict[Key, tuple[int, str]] = {(kind, name): (row, stamp) for row, kind, name, stamp in items}
        for key, (row, stamp) in known.items():
            if stamps.get(key) != stamp:
                database.execute("DELETE FROM items WHERE id = ?", (row,))
                database.execute("DELETE FROM texts WHERE rowid = ?", (row,))
                database.execute("DELETE FROM details WHERE rowid = ?", (row,))
                database.execute("DELETE FROM vectors WHERE id = ?", (row,))
        for key, stamp in stamps.items():
            if key not in known or known[key][1] != stamp:
                _add(database, key, stamp, catalogue.texts(key))


def _is_ours(database: sqlite3.Connection) -> bool:
    if database.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        return False
    return bool(database.execute("SELECT by FROM made").fetchall() == [(MAKER,)])


def _is_same(database: sqlite3.Connection, stamps: Mapping[Key, str]) -> bool:
    # Row by row: thousands of objects kept at once would have Python look for garbage in the whole registry.
    count = 0
    for kind, name, stamp in database.execute("SELECT kind, name, stamp FROM items"):
        if stamps.get((kind, name)) != stamp:
            return False
        count += 1
    return count == len(stamps)


def _add(database: sqlite3.Connection, key: Key, stamp: str, texts: Texts | None) -> None:
    added = database.execute("INSERT INTO items (kind, name, stamp) VALUES (?, ?, ?)", (*key, stamp))
    if texts is not None:
        cells = {column: split_text(getattr(texts, column), most) for column, most in _MOST_WORDS.items()}
        known = {word for column in COLUMNS for word in cells[column]}
        details = [word for word in cells["details"] if word not in known]
        database.execute(
            f"INSERT INTO texts (rowid, {', '.join(COLUMNS)}) VALUES (?{', ?' * len(COLUMNS)})",
            (added.lastrowid, *(" ".join(cells[column]) for column in COLUMNS)),
        )
        database.execute("INSERT INTO details (rowid, words) VALUES (?, ?)", (added.lastrowid, " ".join(details)))
