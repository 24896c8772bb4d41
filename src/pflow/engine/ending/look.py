"""How far a step came, in the few words that pictures and pages have colours for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Look = Literal["pending", "running", "done", "failed", "skipped", "asked", "reused", "cached", "in-doubt"]
"""A class of a box in a picture, and of a row and a bar on a page."""

LOOKS: tuple[Look, ...] = get_args(Look)

_OF_STATUS: Mapping[object, Look] = {
    "running": "running",
    "retrying": "running",
    "not_yet": "running",
    "completed": "done",
    "skipped": "skipped",
    "failed": "failed",
    "handled": "failed",
    "waiting": "asked",
    "in_doubt": "in-doubt",
}
_OF_SOURCE: Mapping[object, Look] = {"cache": "cached", "reuse": "reused"}


def look_of(status: object, source: object) -> Look:
    """How a step with this status looks; where its result came from shows if it has one."""
    found = _OF_STATUS.get(status, "pending")
    return _OF_SOURCE.get(source, found) if found == "done" else found
