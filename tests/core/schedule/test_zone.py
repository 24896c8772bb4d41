"""Time zones: their names, and what is said where one is not known, or none is."""

from __future__ import annotations

import sys
import zoneinfo
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from pflow.core.errors import UsageError
from pflow.core.schedule.zone import local_zone, read_zone


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "did you mean `Europe/Berlin`?"),
        ("europe/berlin", "did you mean `Europe/Berlin`?"),
        ("Berlin", "did you mean `Europe/Berlin`?"),
        ("Europe", "write a name such as `Europe/Berlin` or `UTC`"),
        ("../../etc/passwd", "write a name such as `Europe/Berlin` or `UTC`"),
        ("", "write a name such as `Europe/Berlin` or `UTC`"),
        ("a\0b", "write a name such as `Europe/Berlin` or `UTC`"),
        ("x" * 5000, "write a name such as `Europe/Berlin` or `UTC`"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_zone(name)
    assert caught.value.message.endswith("is not a time zone")
    assert caught.value.message.isprintable()
    if name != "Europe":
        assert caught.value.suggestions == (hint,)


@pytest.fixture
def no_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("tzdata", "tzdata.zoneinfo", "tzdata.zoneinfo.Europe"):  # the package, which may be installed
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath([tmp_path])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()


@pytest.mark.usefixtures("no_database")
def test_a_machine_without_a_database_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        read_zone("Europe/Berlin")
    assert caught.value.message == (
        "the time zone `Europe/Berlin` cannot be looked up: this machine has no time zone database"
    )
    assert "tzdata" in caught.value.suggestions[0]
    assert read_zone("UTC") is UTC


def test_the_local_zone_is_the_one_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", ":America/New_York")
    assert local_zone() == "America/New_York"
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    assert read_zone(local_zone()) is not None
