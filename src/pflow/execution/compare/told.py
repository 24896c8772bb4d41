"""Reads what is compared of a run: its trace, its document, and its values as they are needed."""

from __future__ import annotations

from pflow.core.event import RunResumed, RunStarted
from pflow.engine.codec import decode_event
from pflow.engine.ports import Journal
from pflow.engine.value import ShownValues
from pflow.execution.compare.comparison import Told
from pflow.execution.past.whole import WholeValues
from pflow.execution.trace import read_trace

_SHOWN = ShownValues()


def read_told(journal: Journal, run_id: str) -> Told:
    """A run for comparing. Raises `NotFoundError`, `DamagedError`."""
    values = WholeValues(journal, run_id)
    document: object = None
    for record in values.records:
        if record.kind in ("RunStarted", "RunResumed"):
            event = decode_event(record, _SHOWN)
            if isinstance(event, RunStarted | RunResumed) and event.document is not None:
                document = event.document
    return Told(trace=read_trace(journal, run_id), document=values.whole(document), whole=values.whole)
