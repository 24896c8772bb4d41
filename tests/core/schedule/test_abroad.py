"""Which schedules mean the same where another program fires them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pflow.core.errors import UsageError
from pflow.core.schedule.abroad import check_abroad, find_odd
from pflow.core.schedule.schedule import Schedule
from pflow.core.schedule.timing import Cron

SINCE = datetime(2026, 11, 18, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("fields", "zone", "odd"),
    [
        ("30 2 * * *", "Europe/Berlin", "2027-03-28 02:30"),  # does not exist then
        ("0 1 * * *", "America/New_York", "2027-11-07 01:00"),  # comes twice then
        ("0 7 * * *", "Europe/Berlin", None),
        ("0 3 * * *", "Europe/Berlin", None),  # the first minute after the gap, and the end of what comes twice
        ("30 2 * * 1-5", "Europe/Berlin", None),  # clocks are changed on Sundays
        ("*/20 2 * * *", "Europe/Berlin", None),  # follows the real minutes
        ("30 2 * * *", "UTC", None),
        ("30 2 * * *", "Asia/Tokyo", None),
    ],
)
def test_times_at_which_clocks_are_changed_are_found(fields: str, zone: str, odd: str | None) -> None:
    found = find_odd(Cron(fields=fields, zone=zone), SINCE)
    assert (found and f"{found:%Y-%m-%d %H:%M}") == odd


@pytest.mark.parametrize(
    ("terms", "is_taken"),
    [
        ({}, True),
        ({"when": "every 15m"}, True),
        ({"catch_up": "all", "overlap": "queue"}, True),
        ({"catch_up": "all", "overlap": "allow"}, True),
        ({"catch_up": "all"}, False),
        ({"catch_up": "one"}, False),
        ({"when": "0 7 L * *"}, False),
        ({"when": "0 7 * * 5L"}, False),
        ({"when": "0 7 * * MON#2"}, False),
        ({"when": "0 7 * JUL MON,TUE"}, True),
    ],
)
def test_what_would_be_done_otherwise_is_refused(terms: dict[str, str], is_taken: bool) -> None:
    plain = {"name": "s", "workflow": "w", "when": "0 7 * * *", "zone": "UTC", "catch_up": "none", **terms}
    schedule = Schedule(added_at=SINCE, since=SINCE, **plain)  # type: ignore[arg-type]
    if is_taken:
        check_abroad(schedule)
        return
    with pytest.raises(UsageError) as caught:
        check_abroad(schedule)
    assert caught.value.suggestions
