"""Time zones by name, and the one that this machine is in."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path

from pflow.core.errors import UsageError
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean

_FOLDER = "zoneinfo/"
_UTC = frozenset({"Etc/UTC", "Etc/UCT", "Etc/Zulu", "UCT", "Zulu"})


def read_zone(name: str) -> tzinfo:
    """The time zone of a name such as `Europe/Berlin`. Raises `UsageError` that names the nearest."""
    if name == "UTC":
        return UTC  # known without a database
    from zoneinfo import ZoneInfo, available_timezones  # lazy: `UTC` does without

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        pass
    known = available_timezones()
    if not known:
        raise UsageError(
            f"the time zone `{shorten(name)}` cannot be looked up: this machine has no time zone database",
            suggestions=[
                "install it: `apt-get install tzdata`, or `pip install tzdata` where pflow is installed",
                "without it, `UTC` is the only zone there is",
            ],
        )
    raise UsageError(
        f"`{shorten(name)}` is not a time zone",
        suggestions=[did_you_mean(name, sorted(known)) or "write a name such as `Europe/Berlin` or `UTC`"],
    )


def local_zone() -> str:
    """The name of this machine's time zone; `UTC` where it has none that can be looked up."""
    for name in (os.environ.get("TZ", "").removeprefix(":"), _linked(), _written()):
        if not name:
            continue
        try:
            read_zone(name)
        except UsageError:
            continue
        return "UTC" if name in _UTC else name
    return "UTC"


def _linked() -> str:
    try:
        return str(Path("/etc/localtime").readlink()).partition(_FOLDER)[2]
    except OSError:
        return ""  # missing, or a copy of the zone's file


def _written() -> str:
    try:
        return Path("/etc/timezone").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
