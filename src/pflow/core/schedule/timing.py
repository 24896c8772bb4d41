"""When something is due: `0 7 * * 1-5` in a time zone, or `every 15m`. Pure: moments in, moments out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from pflow.core.advice import Advice
from pflow.core.duration import read_duration, show_duration
from pflow.core.errors import UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.schedule.zone import read_zone

if TYPE_CHECKING:
    from cronsim import CronSim

FORM = 'five fields such as "0 7 * * 1-5", or "every 15m"'
"""What a timing looks like, for hints."""

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
"""Words of crontab(5) and the fields that they stand for."""

SHORTEST_SECONDS = 60
LONGEST_SECONDS = 366 * 86_400
_MOST_CHARACTERS = 200
_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_RANGES = ("0-59", "0-23", "1-31, or `L` for the last", "1-12 or JAN-DEC", "0-7 or SUN-SAT; 0 and 7 are Sunday")


class Timing(Protocol):
    """A rule that says when something is due."""

    def after(self, moment: float) -> Iterator[float]:
        """Every due time later than `moment`, in order, in seconds since 1970."""


def due_between(timing: Timing, start: float, end: float) -> Iterator[float]:
    """Every due time later than `start` and not later than `end`."""
    return takewhile(lambda due: due <= end, timing.after(start))


def read_timing(text: str, *, zone: str, anchor: float) -> Timing:
    """The rule that a text says. Intervals count from `anchor`, in whole seconds. Raises `UsageError`."""
    words = text.split()
    if not words:
        raise UsageError("a schedule needs a time", suggestions=[f"write {FORM}"])
    if words[0].lower() == "every":
        return _read_interval(words[1:], text, anchor)
    if words[0].startswith("@"):
        words = _read_name(words, text)
    _check_count(words, text)
    cron = Cron(fields=" ".join(words), zone=zone)
    if next(cron.after(0.0), None) is None:
        raise UsageError(f"`{shorten(text)}` never comes", suggestions=["look at the day and the month"])
    return cron


class Every(Frozen):
    """A fixed time after the other, counted from `anchor`. Clock changes do not matter: a day has 24 hours."""

    seconds: int
    anchor: int

    def after(self, moment: float) -> Iterator[float]:
        """Every due time later than `moment`."""
        count = max(0, math.floor((moment - self.anchor) / self.seconds))
        while True:
            count += 1
            yield float(self.anchor + count * self.seconds)


class Cron(Frozen):
    """Five fields of cron in a time zone.

    Where the clock is put forward, what falls into the gap is due at the first minute behind it. Where it is put back,
    a time that comes twice is due once; fields that begin with `*` in minute or hour follow the real minutes.
    """

    fields: str
    zone: str

    def after(self, moment: float) -> Iterator[float]:
        """Every due time later than `moment`; none once fifty years have none."""
        start = datetime.fromtimestamp(math.floor(moment), read_zone(self.zone))
        last = moment
        for found in _simulate(self.fields, start):
            due = found.timestamp()
            if due > last:  # a start in the hour that comes twice gives what was due the first time
                last = due
                yield due


class Fields(Frozen):
    """What each of the five fields allows. Days and weekdays have to match both, or one of them is enough."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    needs_both: bool


def read_fields(fields: str) -> Fields:
    """The values of five fields without `L`, `W` and `#`; Sunday is 0 or 7."""
    found = _simulate(fields, datetime.fromtimestamp(0, UTC))
    return Fields(
        minutes=frozenset(found.minutes),
        hours=frozenset(found.hours),
        days=frozenset(found.days),
        months=frozenset(found.months),
        weekdays=frozenset(day for day in found.weekdays if isinstance(day, int)),
        needs_both=found.day_and,
    )


def _simulate(fields: str, start: datetime) -> CronSim:
    from cronsim import CronSim, CronSimError  # lazy: 20 ms, and only schedules need it

    try:
        return CronSim(fields, start)
    except CronSimError as error:
        raise _wrong_field(fields, start) or UsageError(
            f"`{shorten(fields)}` never comes", suggestions=["look at the day and the month"]
        ) from error


def _wrong_field(fields: str, start: datetime) -> UsageError | None:
    """The first field that cannot be read, found by trying each alone; None if only their combination is wrong."""
    from cronsim import CronSim, CronSimError  # lazy: 20 ms, and only schedules need it

    for index, field in enumerate(fields.split()):
        alone = ["*"] * len(_FIELDS)
        alone[index] = field
        try:
            CronSim(" ".join(alone), start)
        except CronSimError:
            return UsageError(
                f"`{shorten(field)}` is not {'an' if index == 1 else 'a'} {_FIELDS[index]}, in `{shorten(fields)}`",
                suggestions=[f"it is {_RANGES[index]}; also `*`, lists `1,3`, ranges `1-5` and steps `*/2`"],
            )
    return None


def _read_interval(words: list[str], text: str, anchor: float) -> Every:
    seconds = read_duration("".join(words)) if words else None
    if seconds is None or not seconds.is_integer():
        raise UsageError(
            f"`{shorten(text)}` is not an interval",
            suggestions=["write `every 15m`, `every 2h` or `every 1d`; for times of day, write five fields of cron"],
        )
    if not SHORTEST_SECONDS <= seconds <= LONGEST_SECONDS:
        raise UsageError(
            f"`{shorten(text)}` is out of range",
            suggestions=[f"an interval has from {show_duration(SHORTEST_SECONDS)} to {show_duration(LONGEST_SECONDS)}"],
        )
    return Every(seconds=int(seconds), anchor=math.floor(anchor))


def _read_name(words: list[str], text: str) -> list[str]:
    name = words[0].lower()
    if name == "@reboot":
        raise UsageError(
            "`@reboot` is not a time: pflow does not see the machine start",
            suggestions=[
                Advice("let the machine itself start it: a systemd unit or a line of crontab with `{run_workflow}`")
            ],
        )
    if name not in NAMED or len(words) > 1:
        raise UsageError(
            f"`{shorten(text)}` is not a time", suggestions=[f"there are: {', '.join(NAMED)}", f"or write {FORM}"]
        )
    return NAMED[name].split()


def _check_count(words: list[str], text: str) -> None:
    if len(text) > _MOST_CHARACTERS:
        raise UsageError(f"a time has at most {_MOST_CHARACTERS} characters", suggestions=[f"write {FORM}"])
    if len(words) == len(_FIELDS):
        return
    hints = [f"write {FORM}"]
    if len(words) == len(_FIELDS) + 1:
        hints = [f'schedules have no field for seconds: write "{shorten(" ".join(words[1:]))}"']
    elif len(words) == 1 and read_duration(text) is not None:
        hints = [f'write "every {shorten(text.strip())}"']
    raise UsageError(
        f"`{shorten(text)}` has {len(words)} field{'s' * (len(words) != 1)}, not five ({', '.join(_FIELDS)})",
        suggestions=hints,
    )
