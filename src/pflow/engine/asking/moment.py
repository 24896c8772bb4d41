"""When to look again at a condition: a pure function of when the wait began and what time it is."""

from __future__ import annotations

from collections.abc import Mapping

LONGEST_INTERVAL_SECONDS = 86_400.0
"""Between two looks, however much they back off."""

DEFAULT_INTERVAL_SECONDS = 10.0


def next_look(begun: float, form: Mapping[str, object], moment: float) -> float:
    """The first moment after `moment` to look: `interval` after the wait began, and `backoff` times as long each time.

    It does not depend on which process looked when, so a wait that is taken up keeps its rhythm.
    """
    interval, backoff = _number(form, "interval", DEFAULT_INTERVAL_SECONDS), _number(form, "backoff", 1.0)
    if moment < begun:  # the clock was set back
        return moment + interval
    at = begun
    while at <= moment:
        if backoff <= 1.0 or interval >= LONGEST_INTERVAL_SECONDS:
            return at + interval * ((moment - at) // interval + 1)
        at += interval
        interval = min(interval * backoff, LONGEST_INTERVAL_SECONDS)
    return at


def _number(form: Mapping[str, object], name: str, default: float) -> float:
    value = form.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else default
