"""Rules of headers that all callers share: valid characters, and how long `Retry-After` says to wait."""

from __future__ import annotations

import re

UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
"""Characters that would end a header's line, or that cannot be sent."""

_LONGEST_DATE_CHARACTERS = 100
_LONGEST_WAIT_SECONDS = 7 * 24 * 3600.0


def read_wait(text: str) -> float | None:
    """Seconds to wait, from a `Retry-After` of either form; never more than a week."""
    text = text.strip()
    if not text or len(text) > _LONGEST_DATE_CHARACTERS:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST_WAIT_SECONDS)
    from datetime import UTC, datetime  # lazy: only for a date, which few servers send
    from email.utils import parsedate_to_datetime

    try:
        at = parsedate_to_datetime(text)
        left = (at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)
    except (ValueError, OverflowError):
        return None
    return min(max(round(left.total_seconds(), 1), 0.0), _LONGEST_WAIT_SECONDS)
