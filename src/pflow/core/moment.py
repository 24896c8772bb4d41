"""Moments as documents and people write them: `2026-11-18T09:30:00Z`, with a zone, or a local time without one."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

FORM = "a moment such as `2026-11-18T09:30:00Z`, or a time of day such as `18:30`"
"""What a moment looks like, for hints."""

_TIME = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def read_moment(value: object, now: float) -> float | None:
    """Seconds since 1970; None for what is not a moment. A time of day is the next one, here where the process runs."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            return datetime.fromisoformat(text).timestamp()  # without a zone it is local
        today = datetime.fromtimestamp(now)
        at = today.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return (at if at.timestamp() > now else at + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError):
        return None


def show_moment(at: float) -> str:
    """A moment in UTC, to the second."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
