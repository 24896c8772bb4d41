"""The moment up to which the age of things in a home counts: a clock that leapt ahead is not believed at once."""

from __future__ import annotations

import time

import orjson

from pflow.core.errors import PflowError
from pflow.core.file.atomic import read_private, write_atomic
from pflow.core.file.home import Home

DAY = 86_400
"""Seconds."""

_SEEN_DAYS = 3
"""On how many days of use the clock must have shown about the same time before anything is deleted by it."""

_LEAP_DAYS = 30
"""From here on a pause is long enough to say what follows from it."""

_MOST_BYTES = 1024


def sure_now(home: Home) -> float | None:
    """Now, unless the clock leapt: then what it showed on the days of use before. None while those are too few."""
    seen = _seen(home)
    if len(seen) < _SEEN_DAYS:
        return None
    return min(time.time(), min(seen) + (_SEEN_DAYS - 1) * DAY)


def note_day(home: Home) -> str:
    """Note that the home is used today; what to say if the clock is far from where it was. Raises `StorageError`."""
    seen, now = _seen(home), time.time()
    last = seen[-1] if seen else None
    if last is not None and abs(now - last) < DAY:
        return ""
    write_atomic(home.root / ".clock", orjson.dumps([*seen, now][-_SEEN_DAYS:]))
    if last is None or now - last < _LEAP_DAYS * DAY:
        return ""
    days = round((now - last) / DAY)
    return f"the clock shows {days} days since the last use; what is old by it is deleted after two more days of use"


def _seen(home: Home) -> list[float]:
    """What the clock showed on the last days of use, a day apart at least."""
    try:
        seen = orjson.loads(read_private(home.root / ".clock", _MOST_BYTES))
    except (PflowError, ValueError):
        return []
    return [at for at in seen if isinstance(at, float)] if isinstance(seen, list) else []
