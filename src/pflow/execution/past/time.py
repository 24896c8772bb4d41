"""How long processes worked on a run, without the time in which it waited or nobody had taken it up."""

from __future__ import annotations

from pflow.core.errors import DamagedError
from pflow.engine.codec import decode_event
from pflow.engine.ending.worked import Worked
from pflow.engine.ports import Journal, RunInfo
from pflow.engine.value import ShownValues
from pflow.execution.again.item_count import ITEM_KINDS

_RESTS = frozenset({"RunResumed", "StepAsked"})
_LEFT = frozenset({"stopped", "cancelled"})
"""Only runs with such an event or status can have rested: a process may be gone before somebody says so."""


def time_worked(journal: Journal, info: RunInfo) -> float | None:
    """The seconds of work of a run that has ended; None for others, and for one that cannot be read."""
    if info.ended_at is None or info.status == "damaged":
        return None
    try:
        records = journal.read(info.run_id)
        if info.status not in _LEFT and not any(record.kind in _RESTS for record in records):
            return info.ended_at - info.started_at
        worked = Worked(whole=True)
        for record in records:
            if record.kind not in ITEM_KINDS:
                worked.note(decode_event(record, ShownValues()))
    except DamagedError:
        return None
    return worked.seconds
