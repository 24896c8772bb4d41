"""SQLite databases that other programs write, read without leaving a trace in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

_SECONDS = 5.0


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that only reads. Raises `sqlite3.Error`, and `OSError` if there is no such file."""
    path.stat()
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=_SECONDS)) as connection:
        connection.execute("PRAGMA query_only = 1")
        connection.text_factory = lambda data: data.decode(errors="replace")
        yield connection
