"""What can be read of a run whose journal is damaged: all that stands before the damage."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.errors import DamagedError
from pflow.engine.codec import decode_event
from pflow.engine.ports import Journal, Record
from pflow.engine.value import ShownValues

_SHOWN = ShownValues()


def read_sound(journal: Journal, run_id: str, start: int = 0) -> tuple[Sequence[Record], bool]:
    """The records of a run from `start` on, up to the first that the journal cannot give; whether there is one."""
    try:
        return journal.read(run_id, start), False
    except DamagedError:
        return journal.read_sound(run_id)[start:], True


def is_sound(record: Record) -> bool:
    """Whether a record tells of an event."""
    try:
        decode_event(record, _SHOWN)
    except DamagedError:
        return False
    return True
