"""Timestamps and durations: read from text, written as text, and their parts."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from pflow.core.expression.fault import Fault
from pflow.core.expression.value import Duration, Timestamp, divide, duration_of, timestamp_of
from pflow.core.printable import shorten

SECOND = 10**9
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|z|[+-][0-9]{2}:[0-9]{2})"
)
_LONGEST_DURATION = 100
"""Characters."""

_PART = re.compile(r"([0-9]{0,19})(?:\.([0-9]{0,18}))?(h|ms|us|µs|ns|m|s)")
_OFFSET = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_timestamp(text: str) -> Timestamp:
    """A moment of RFC 3339: `2026-11-16T09:30:00Z`."""
    found = _MOMENT.fullmatch(text)
    try:
        if found is None or found[4][1:] > "24":  # hours of an offset
            raise ValueError(text)
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{'+00:00' if found[4] in 'Zz' else found[4]}")
        since = moment - _EPOCH
    except (ValueError, OverflowError):
        hint = "write date, time and zone: `timestamp('2026-11-16T09:30:00Z')`"
        raise Fault("value", "a string is not a timestamp", hint) from None
    return timestamp_of((since.days * 86_400 + since.seconds) * SECOND + int((found[3] or "0").ljust(9, "0")))


def read_duration(text: str) -> Duration:
    """A length of time with units: `90s`, `1h30m`, `-1.5s`."""
    sign = -1 if text.startswith("-") else 1
    rest = text[1:] if text.startswith(("-", "+")) else text
    total = at = 0
    while rest != "0" and (not rest or at < len(rest)):
        part = _PART.match(rest, at) if len(rest) <= _LONGEST_DURATION else None
        if part is None or not (part[1] or part[2]):
            hint = "write numbers with `h`, `m`, `s` or `ms`: `duration('1h30m')`; a day is `24h`"
            raise Fault("value", "a string is not a duration", hint)
        fraction = part[2] or ""
        total += int((part[1] or "0") + fraction) * _UNITS[part[3]] // 10 ** len(fraction)
        at = part.end()
    return duration_of(sign * total)


def write_timestamp(moment: Timestamp) -> str:
    """The moment in UTC, with as many groups of three digits behind the second as it needs."""
    seconds, rest = divmod(int(moment), SECOND)
    date = _EPOCH + timedelta(seconds=seconds)
    return f"{date.year:04}-{date:%m-%dT%H:%M:%S}{_decimals(rest)}Z"


def write_duration(length: Duration) -> str:
    """The length in seconds: `5400s`, `0.25s`."""
    seconds, rest = divmod(abs(int(length)), SECOND)
    return f"{'-' if length < 0 else ''}{seconds}{f'.{rest:09}'.rstrip('0') if rest else ''}s"


def _decimals(nanoseconds: int) -> str:
    if not nanoseconds:
        return ""
    digits = f"{nanoseconds:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def part_of(name: str, value: Timestamp | Duration, zone: str = "UTC") -> int:
    """What `getHours()` and its kin give, for a timestamp in a time zone."""
    if isinstance(value, Duration):
        unit = {"getHours": 3600 * SECOND, "getMinutes": 60 * SECOND, "getSeconds": SECOND}.get(name)
        found = divide(int(value), unit or 10**6)
        return found if unit else found - divide(found, 1000) * 1000
    seconds, rest = divmod(int(value), SECOND)
    try:
        date = (_EPOCH + timedelta(seconds=seconds)).astimezone(_zone(zone))
    except OverflowError:
        raise Fault("value", "a timestamp is between the years 1 and 9999, in its time zone too") from None
    match name:
        case "getFullYear":
            return date.year
        case "getMonth":
            return date.month - 1
        case "getDate":
            return date.day
        case "getDayOfMonth":
            return date.day - 1
        case "getDayOfWeek":
            return date.isoweekday() % 7
        case "getDayOfYear":
            return date.timetuple().tm_yday - 1
        case "getHours":
            return date.hour
        case "getMinutes":
            return date.minute
        case "getSeconds":
            return date.second
    return rest // 10**6


def _zone(name: str) -> tzinfo:
    if name in ("UTC", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # lazy: few expressions name a zone

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = "write a name such as `Europe/Berlin`, or an offset such as `+02:00`"
        raise Fault("value", f"`{shorten(name)}` is not a time zone", hint) from None
