"""What every cache does, shown on each of them by the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pflow.adapters.sqlite_cache import SqliteCache
from pflow.adapters.sqlite_journal import SqliteJournal
from pflow.core.errors import StorageError
from pflow.engine.ports import Cache
from pflow.testing import MemoryCache


@pytest.fixture(params=["memory", "sqlite"])
def open_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Cache]]:
    journal = SqliteJournal(tmp_path / "h" / "runs.db")

    def make(**options: int) -> Cache:
        return MemoryCache(**options) if request.param == "memory" else SqliteCache(journal.database, **options)

    yield make
    journal.close()


def test_a_cache_keeps_the_last_value(open_cache: Callable[..., Cache]) -> None:
    cache = open_cache()
    assert cache.get("k") is None
    cache.put("k", b"1")
    assert cache.get("k") == b"1"
    cache.put("k", b"2")
    cache.put("empty", b"")
    assert (cache.get("k"), cache.get("empty")) == (b"2", b"")
    cache.close()
    cache.close()


def test_it_stays_within_its_size_and_drops_what_was_not_used_for_longest(open_cache: Callable[..., Cache]) -> None:
    cache = open_cache(limit=1000)
    for key in "abcdefghij":
        cache.put(key, b"x" * 100)
    assert cache.get("a") is not None
    cache.put("k", b"x" * 100)
    cache.put("l", b"x" * 100)
    assert [key for key in "abcdefghijkl" if cache.get(key) is None] == ["b", "c"]
    cache.put("huge", b"x" * 1001)
    assert cache.get("huge") is None
    assert cache.get("a") is not None


# On disk


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[Callable[[], SqliteJournal]]:
    opened: list[SqliteJournal] = []

    def make() -> SqliteJournal:
        opened.append(SqliteJournal(tmp_path / "h" / "runs.db"))
        return opened[-1]

    yield make
    for journal in opened:
        journal.close()


def test_processes_share_what_is_on_disk(journals: Callable[[], SqliteJournal]) -> None:
    first, second = SqliteCache(journals().database), SqliteCache(journals().database)
    first.put("k", b"1")
    assert second.get("k") == b"1"
    second.put("k", b"2")
    assert first.get("k") == b"2"


def test_what_was_used_is_remembered_when_the_process_ends(journals: Callable[[], SqliteJournal]) -> None:
    journal = journals()
    for key in "abc":
        SqliteCache(journal.database).put(key, b"x" * 100)
    reader = SqliteCache(journal.database)
    assert reader.get("a") is not None
    reader.close()
    SqliteCache(journal.database, limit=300).put("d", b"x" * 100)
    later = SqliteCache(journals().database)
    assert [key for key in "abcd" if later.get(key) is None] == ["b"]


def test_a_cache_ends_with_its_journal(journals: Callable[[], SqliteJournal]) -> None:
    journal = journals()
    cache = SqliteCache(journal.database)
    cache.put("k", b"1")
    assert cache.get("k") == b"1"
    journal.close()
    cache.close()
    with pytest.raises(StorageError, match="closed"):
        cache.get("k")
    with pytest.raises(StorageError, match="closed"):
        cache.put("k", b"2")
