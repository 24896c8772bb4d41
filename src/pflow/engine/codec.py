"""Events to journal records and back. The one place where recorded text is stripped of secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from pflow.core.errors import DamagedError
from pflow.core.event import EVENTS, Event, ItemCompleted, StepCompleted, StepStarted
from pflow.engine.ports import Record
from pflow.engine.value import Redacting, ValueTable

_MAPS = {
    "RunStarted": ("inputs",),
    "RunResumed": ("inputs",),
    "StepFailed": ("params",),
    "StepCompleted": ("writes",),
    "ItemCompleted": ("writes",),
    "RunCompleted": ("outputs",),
}
"""Fields that map names to values: each value is recorded on its own, so that none is stored twice."""

_VALUES = {"RunStarted": ("document",), "RunResumed": ("document",)}
_NAMES = {kind: tuple(cls._fields) for kind, cls in EVENTS.items()}


def encode_event(event: Event, values: ValueTable, redactor: Redacting) -> Record:
    """One event as the journal keeps it."""
    blobs: list[tuple[str, bytes]] = []
    kind = type(event).__name__
    fields: dict[str, Any]
    if isinstance(event, StepStarted):  # the commonest first, spelled out: this is the hot path of every step
        fields = {
            "step": event.step,
            "node": event.node,
            "definition": event.definition,
            "inputs": event.inputs,
            "at": event.at,
            "attempt": event.attempt,
            "items": event.items,
        }
    elif isinstance(event, StepCompleted):
        fields = {
            "step": event.step,
            "action": event.action,
            "writes": _fragments(event.writes, values, blobs),
            "ms": event.ms,
            "source": event.source,
            "reads": event.reads,
        }
    elif isinstance(event, ItemCompleted):
        fields = {"step": event.step, "item": event.item, "writes": _fragments(event.writes, values, blobs)}
    else:
        fields = {name: getattr(event, name) for name in _NAMES[kind]}
        for name in _VALUES.get(kind, ()):
            fields[name] = _fragment(fields[name], values, blobs)
        for name in _MAPS.get(kind, ()):
            fields[name] = _fragments(fields[name], values, blobs)
    return Record(kind, redactor.data(orjson.dumps(fields)), tuple(blobs))


def _fragments(
    writes: Mapping[str, object], values: ValueTable, blobs: list[tuple[str, bytes]]
) -> dict[str, orjson.Fragment]:
    return {key: _fragment(value, values, blobs) for key, value in writes.items()}


def _fragment(value: object, values: ValueTable, blobs: list[tuple[str, bytes]]) -> orjson.Fragment:
    encoded = values.encode(value)
    if encoded.blob is not None and (blob := values.take_blob(encoded)):
        blobs.append(blob)
    return orjson.Fragment(encoded.json)


def decode_event(record: Record, values: ValueTable, redactor: Redacting) -> Event:
    """The event that a record holds; raises `DamagedError`."""
    try:
        fields = orjson.loads(redactor.restore(record.data))
        for name in _VALUES.get(record.kind, ()):
            fields[name] = values.decode(fields[name])
        for name in _MAPS.get(record.kind, ()):
            fields[name] = {key: values.decode(value) for key, value in fields[name].items()}
        if "rerun" in fields:
            fields["rerun"] = tuple(fields["rerun"])
        return EVENTS[record.kind](**fields)
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"the journal holds an event of kind `{record.kind}` that cannot be read") from error


def mentions(text: str, *names: str, last: Callable[[], Record | None]) -> bool:
    """Whether a text stands in a run's names or in the error that its last record holds, in whatever case."""
    wanted = text.casefold()
    return any(wanted in name.casefold() for name in names) or wanted in _error_text(last()).casefold()


def _error_text(record: Record | None) -> str:
    if record is None or record.kind != "RunFailed":
        return ""
    try:
        return str(orjson.loads(record.data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def decode_events(records: Sequence[Record], values: ValueTable, redactor: Redacting) -> list[Event]:
    """Several events, in order."""
    return [decode_event(record, values, redactor) for record in records]
