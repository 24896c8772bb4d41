"""What a run's journal tells of one of its steps, without reading all that it tells of the others.

Of a damaged journal it is what stands before the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

import orjson

from pflow.core.errors import DamagedError, NotFoundError
from pflow.core.json_type import JsonView, objects_in
from pflow.core.suggest import did_you_mean
from pflow.engine.again.name import split_item, top_of
from pflow.engine.ports import Journal, Record
from pflow.execution.past.item import find_item
from pflow.execution.past.sound import is_sound, read_sound
from pflow.execution.trace import trace_of

_OF_STEPS = ("Step", "Item", "Model")
"""How the kinds of events begin that are about a step; the others are few, and about the run."""


def trace_about(journal: Journal, run_id: str, name: str) -> tuple[JsonView, Sequence[Record]]:
    """The trace of a run as far as it tells of a step or an item, and the records that it is folded from."""
    step = split_item(name)[0]
    needles = {_quoted(name), _quoted(step), _quoted(top_of(step))}
    info = journal.info(run_id)  # before its records: what ends it is among them
    records = [record for record in read_sound(journal, run_id)[0] if _is_about(record, needles)]
    try:
        return trace_of(run_id, records, info), records
    except DamagedError:
        records = list(takewhile(is_sound, records))
        return trace_of(run_id, records, info), records


def find_entry(trace: JsonView, name: str, records: Callable[[], Sequence[Record]]) -> JsonView:
    """What a trace tells of a step, or of an item of a batch, such as `b[17]`. Raises `NotFoundError`."""
    entries = {str(entry.get("step")): entry for entry in objects_in(trace.get("steps"))}
    if name in entries:
        return entries[name]
    batch, item = split_item(name)
    if item is not None and batch in entries:
        return find_item(records(), entries[batch], item)
    names = list(entries)
    hint = did_you_mean(name, names)
    raise NotFoundError(f"the run has no step `{name}`", details={"steps": names}, suggestions=[hint] if hint else [])


def _is_about(record: Record, needles: set[bytes]) -> bool:
    return not record.kind.startswith(_OF_STEPS) or any(needle in record.data for needle in needles)


def _quoted(name: str) -> bytes:
    """A name as it stands in a record."""
    return orjson.dumps(name)
