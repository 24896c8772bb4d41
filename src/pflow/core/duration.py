"""Durations as documents write them: a number of seconds, or a string such as `90s`, `15m`, `2h` or `3d`."""

from __future__ import annotations

import re

FORM = "seconds, or a string such as `90s`, `15m`, `2h` or `3d`"
"""What a duration looks like, for hints."""

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
_DURATION = rf"({_NUMBER}) ?([smhd])"


def read_duration(value: object) -> float | None:
    """The seconds that a value says; None if it does not say any."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    found = re.fullmatch(_DURATION, value.strip()) if isinstance(value, str) else None
    return float(found[1]) * _SECONDS[found[2]] if found else None


def read_seconds(value: object) -> float | None:
    """The same where a number may come as text: from a command line, or from the default of a template."""
    plain = re.fullmatch(_NUMBER, value.strip()) if isinstance(value, str) else None
    return read_duration(value) if plain is None else float(plain[0])


def write_duration(seconds: float) -> str:
    """Seconds as a document writes them, in the largest unit that they are a whole number of: `90s`, `3d`."""
    unit = next((unit for unit in "dhm" if seconds >= _SECONDS[unit] and seconds % _SECONDS[unit] == 0), "s")
    return f"{seconds / _SECONDS[unit]:g}{unit}"


def show_span(seconds: float) -> str:
    """About how long something is or was, in one unit: `3 min`."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit}"
    return f"{whole} s"


def show_duration(seconds: float) -> str:
    """Seconds in the largest unit that they are a whole number of: `90 s`, `15 min`, `3 d`."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
