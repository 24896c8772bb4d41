"""How large the graph of a run would be: counted in its document, which is not checked for that."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import PflowError
from pflow.core.event import RunResumed, RunStarted
from pflow.engine.codec import decode_event
from pflow.engine.ports import Journal
from pflow.engine.value import ShownValues
from pflow.execution.past.sound import read_sound
from pflow.execution.past.whole import WholeValues

_KINDS = (RunStarted.__name__, RunResumed.__name__)


def count_nodes(journal: Journal, run_id: str) -> int:
    """The nodes of the document that a run has now; none if it has no document, or it cannot be read."""
    shown = ShownValues()
    document: object = None
    try:
        for record in read_sound(journal, run_id)[0]:
            if record.kind in _KINDS:
                event = decode_event(record, shown)
                assert isinstance(event, RunStarted | RunResumed)
                document = event.document if event.document is not None else document
        whole = WholeValues(journal, run_id).whole(document)
    except PflowError:
        return 0
    body = whole.get("document") if isinstance(whole, Mapping) else None
    nodes = body.get("nodes") if isinstance(body, Mapping) else None
    return len(nodes) if isinstance(nodes, list) else 0
