"""When schedules are due: what can be written, and which moments follow from it, also where clocks are changed."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given
from hypothesis import strategies as st

from pflow.core.errors import UsageError
from pflow.core.schedule.timing import Every, Timing, due_between, read_timing

DAY = 86_400
START = datetime(2020, 1, 1, tzinfo=UTC).timestamp()


def timing(text: str, zone: str = "UTC", anchor: float = START) -> Timing:
    return read_timing(text, zone=zone, anchor=anchor)


def clock(text: str, zone: str) -> float:
    """The moment that a clock shows so, the first one if it does so twice."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def times(text: str, zone: str, after: str, count: int) -> list[str]:
    """The next due times by the clock of a zone."""
    found = islice(timing(text, zone).after(clock(after, zone)), count)
    return [datetime.fromtimestamp(due, ZoneInfo(zone)).isoformat() for due in found]


# Fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 7 * * 1-5", ["2026-11-20T07:00", "2026-11-23T07:00", "2026-11-24T07:00"]),
        ("0 7 * * MON-FRI", ["2026-11-20T07:00", "2026-11-23T07:00", "2026-11-24T07:00"]),
        ("*/20 9-10 * * sun", ["2026-11-22T09:00", "2026-11-22T09:20", "2026-11-22T09:40"]),
        ("  15   12 1,15 Jan *  ", ["2027-01-01T12:15", "2027-01-15T12:15", "2028-01-01T12:15"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00", "2036-02-29T00:00"]),
        ("0 0 L * *", ["2026-11-30T00:00", "2026-12-31T00:00", "2027-01-31T00:00"]),
        ("@weekly", ["2026-11-22T00:00", "2026-11-29T00:00", "2026-12-06T00:00"]),
        ("@Daily", ["2026-11-20T00:00", "2026-11-21T00:00", "2026-11-22T00:00"]),
        ("0 12 13 * 5", ["2026-11-20T12:00", "2026-11-27T12:00", "2026-12-04T12:00"]),  # the 13th, and every Friday
    ],
)
def test_fields_mean_what_they_mean_to_cron(text: str, expected: list[str]) -> None:
    found = times(text, "Europe/Berlin", "2026-11-19T20:00", 3)
    assert [moment[:16] for moment in found] == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "a schedule needs a time", 'write five fields such as "0 7 * * 1-5", or "every 15m"'),
        (
            "0 0 7 * * 1-5",
            "`0 0 7 * * 1-5` has 6 fields, not five (minute, hour, day of the month, month, day of the week)",
            'schedules have no field for seconds: write "0 7 * * 1-5"',
        ),
        (
            "7 * *",
            "`7 * *` has 3 fields, not five (minute, hour, day of the month, month, day of the week)",
            'write five fields such as "0 7 * * 1-5", or "every 15m"',
        ),
        (
            "15m",
            "`15m` has 1 field, not five (minute, hour, day of the month, month, day of the week)",
            'write "every 15m"',
        ),
        (
            "@reboot",
            "`@reboot` is not a time: pflow does not see the machine start",
            "let the machine itself start it: a systemd unit or a line of crontab with `pflow run WORKFLOW`",
        ),
        (
            "@fortnightly",
            "`@fortnightly` is not a time",
            "there are: @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually",
        ),
        (
            "61 7 * * *",
            "`61` is not a minute, in `61 7 * * *`",
            "it is 0-59; also `*`, lists `1,3`, ranges `1-5` and steps `*/2`",
        ),
        (
            "0 7 * * 5-1",
            "`5-1` is not a day of the week, in `0 7 * * 5-1`",
            "it is 0-7 or SUN-SAT; 0 and 7 are Sunday; also `*`, lists `1,3`, ranges `1-5` and steps `*/2`",
        ),
        ("0 0 30 2 *", "`0 0 30 2 *` never comes", "look at the day and the month"),
        ("0 0 ? * *", "`?` is not a day of the month, in `0 0 ? * *`", "…"),
        ("H H * * *", "`H` is not a minute, in `H H * * *`", "…"),
        (
            "every day",
            "`every day` is not an interval",
            "write `every 15m`, `every 2h` or `every 1d`; for times of day, write five fields of cron",
        ),
        ("every 30s", "`every 30s` is out of range", "an interval has from 1 min to 366 d"),
        ("every 367d", "`every 367d` is out of range", "an interval has from 1 min to 366 d"),
        ("every", "`every` is not an interval", "…"),
        ("every 90.5s", "`every 90.5s` is not an interval", "…"),
        ("* " * 200, "a time has at most 200 characters", "…"),
    ],
)
def test_what_cannot_be_read_is_explained(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        timing(text)
    assert caught.value.message == message
    assert hint in ("…", caught.value.suggestions[0])


@given(st.one_of(st.text(max_size=40), st.text("0123456789*/-,#LW@ JANSUneveryhmsd.", max_size=30)))
def test_whatever_is_written_is_read_or_refused(text: str) -> None:
    try:
        found = timing(text)
    except UsageError as error:
        assert error.message.isprintable()
        assert error.suggestions
    else:
        dues = list(islice(found.after(START), 5))
        assert dues == sorted(set(dues))
        assert all(due > START for due in dues)


# Intervals


def test_an_interval_counts_from_its_beginning() -> None:
    found = timing("every 15m", anchor=START + 420.7)
    assert found == Every(seconds=900, anchor=int(START) + 420)
    assert list(islice(found.after(START + 420), 2)) == [START + 1320, START + 2220]
    assert list(islice(found.after(START + 1320), 1)) == [START + 2220]
    assert next(found.after(0)) == START + 1320, "nothing is due before it was made"


@given(st.integers(60, 10**7), st.floats(0, 10**10), st.floats(0, 10**10))
def test_an_interval_is_due_once_in_each_of_its_spans(seconds: int, anchor: float, moment: float) -> None:
    due = next(Every(seconds=seconds, anchor=int(anchor)).after(moment))
    assert due > moment
    assert due - seconds <= max(moment, int(anchor))


# Clocks that are changed


def test_what_falls_into_the_gap_is_due_at_the_first_minute_behind_it() -> None:
    found = times("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00", 3)
    assert found == ["2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]
    assert times("0 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]


def test_what_the_clock_shows_twice_is_due_once() -> None:
    found = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 2)
    assert found == ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]
    first = clock("2026-10-25T02:30", "Europe/Berlin")
    for minutes in range(120):  # from the first showing to behind the second
        after = first + minutes * 60
        assert next(timing("30 2 * * *", "Europe/Berlin").after(after)) == first + DAY + 3600


def test_every_hour_is_every_real_hour() -> None:
    found = times("0 * * * *", "America/New_York", "2026-11-01T00:30", 4)
    assert [moment[11:] for moment in found] == [
        "01:00:00-04:00",
        "01:00:00-05:00",
        "02:00:00-05:00",
        "03:00:00-05:00",
    ]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("text", ["30 2 * * *", "0,30 1-3 * * *", "0 7 * * 1-5", "15 */6 * * *", "59 23 L * *"])
@pytest.mark.parametrize("days", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_all_days_are_as_the_simulator_has_them(text: str, zone: str, days: int) -> None:
    """Asked in spans of any length, each time anew, the due times are those of one iterator that never stops."""
    end = START + days * DAY
    expected = []
    for found in CronSim(text, datetime.fromtimestamp(START, ZoneInfo(zone))):
        if found.timestamp() > end:
            break
        expected.append(found.timestamp())
    rule, chance = timing(text, zone), random.Random(text + zone)
    asked: list[float] = []
    moment = START
    while moment < end:
        until = min(end, moment + chance.choice([60.0, 1800.5, 5400.0, DAY, 40 * DAY]) * chance.random())
        asked += due_between(rule, moment, until)
        moment = until
    assert asked == expected
