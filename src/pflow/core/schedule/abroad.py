"""Which schedules mean the same at a place as on one machine. What fires them there is another program."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

from pflow.core.errors import UsageError
from pflow.core.schedule.schedule import Schedule
from pflow.core.schedule.timing import Cron, Every
from pflow.core.schedule.zone import read_zone

_DAYS_AHEAD = 3 * 366
_HOURS = 24


def check_abroad(schedule: Schedule) -> None:
    """Raise `UsageError` for what would be done otherwise there than is said."""
    if schedule.catch_up == "one":
        raise UsageError(
            "at a place, one run for all times that were missed cannot be had",
            suggestions=["write `--catch-up none`, or `--catch-up all --overlap queue` for a run for each"],
        )
    if schedule.catch_up == "all" and schedule.overlap in ("skip", "cancel"):
        raise UsageError(
            f"at a place, `--catch-up all` with `--overlap {schedule.overlap}` would not run every time that was "
            "missed: they are due all at once, and overlap",
            suggestions=["write `--overlap queue`, so that one follows the other"],
        )
    timing = schedule.timing
    if isinstance(timing, Every):
        return
    assert isinstance(timing, Cron)
    days, weekday = timing.fields.split()[2], timing.fields.split()[4]
    for field, marks in ((days, "LW"), (weekday, "L#")):
        if any(mark in field.upper() for mark in marks):
            raise UsageError(
                f"`{field}` cannot be had at a place: its schedules know no last days of a month, and no second Monday",
                suggestions=["name the days, or have the workflow look at the date"],
            )
    if (moment := find_odd(timing, schedule.added_at)) is not None:
        raise UsageError(
            f"`{schedule.when}` is due at {moment:%Y-%m-%d %H:%M} in {schedule.zone}, when clocks are changed: at a "
            "place such a time is left out, or comes twice",
            suggestions=["choose another hour, or `--tz UTC`, where clocks are not changed"],
        )


def find_odd(cron: Cron, since: float) -> datetime | None:
    """The first due time, by the clock of the zone, that does not exist or comes twice; of the three years `since`.

    Where minute or hour begin with `*`, due times follow the real minutes everywhere.
    """
    minute, hour = cron.fields.split()[:2]
    if minute.startswith("*") or hour.startswith("*"):
        return None
    plain, zone = Cron(fields=cron.fields, zone="UTC"), read_zone(cron.zone)
    for start, end in _changes(zone, since):
        begin = (start - timedelta(minutes=1)).timestamp()
        due = next(plain.after(begin), None)
        if due is not None and due < end.timestamp():
            return datetime.fromtimestamp(due, start.tzinfo)
    return None


def _changes(zone: tzinfo, since: float) -> Iterator[tuple[datetime, datetime]]:
    """Spans of local time, written as if it were UTC, that are skipped or come twice."""
    utc = read_zone("UTC")
    moment = datetime.fromtimestamp(since, utc).replace(minute=0, second=0, microsecond=0)
    offset = moment.astimezone(zone).utcoffset() or timedelta()
    for _ in range(_DAYS_AHEAD * _HOURS * 2):
        moment += timedelta(minutes=30)
        found = moment.astimezone(zone).utcoffset() or timedelta()
        if found != offset:
            local = [(moment + one).replace(tzinfo=utc) for one in sorted((offset, found))]
            yield local[0], local[1]
            offset = found
