"""What time it is, for deadlines and schedules; `PFLOW_NOW` names a file that says so in place of the clock."""

from __future__ import annotations

import os
import re
import time
from datetime import datetime
from pathlib import Path

from pflow.core.errors import UsageError

VARIABLE = "PFLOW_NOW"
"""The environment variable with the path of the file."""

_SECONDS = re.compile(r"[0-9]{1,11}(\.[0-9]+)?")


def now() -> float:
    """Seconds since 1970, read anew each time. Raises `UsageError` for a file that does not say a time."""
    name = os.environ.get(VARIABLE)
    return time.time() if not name else _read(name)


def _read(name: str) -> float:
    try:
        text = Path(name).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise _wrong(name, f"it cannot be read: {error}") from error
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise _wrong(name, f"it says `{text[:80]}`") from error
    if moment.tzinfo is None:
        raise _wrong(name, f"`{text}` has no time zone")
    return moment.timestamp()


def _wrong(name: str, reason: str) -> UsageError:
    return UsageError(
        f"the file `{name}` that {VARIABLE} names does not say a time: {reason}",
        suggestions=[
            "write seconds since 1970 or a moment such as `2026-11-16T09:30:00Z` into it",
            f"unset {VARIABLE} to use the clock of the machine",
        ],
    )
