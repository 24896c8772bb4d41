"""The stores that journals can be on, each opened as several processes would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.engine.ports import Journal
from pflow.testing import MemoryJournal, MemoryStore


def open_on_one_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Journal]]:
    """A function that opens one more journal on the store that the fixture's parameter names."""
    opened: list[Journal] = []
    make = maker(request, tmp_path)

    def open_one() -> Journal:
        opened.append(make())
        return opened[-1]

    yield open_one
    for journal in opened:
        journal.close()


def maker(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Journal]:
    if request.param == "memory":
        store = MemoryStore()
        return lambda: MemoryJournal(store)
    if request.param == "sqlite":
        return lambda: SqliteJournal(tmp_path / "h" / "runs.db")
    place, server = request.getfixturevalue("a_place"), request.getfixturevalue("postgres")
    return lambda: server.journal(place)
