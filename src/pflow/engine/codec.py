"""Events to journal records and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import orjson

from pflow.core.advice import from_data, to_data
from pflow.core.errors import DamagedError
from pflow.core.event import EVENTS, Event, ItemCompleted, StepCompleted, StepStarted
from pflow.engine.ports import Record
from pflow.engine.value import ValueTable

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


class Reading(Protocol):
    """How recorded values are read: as what they were (`ValueTable`), or as they are shown (`ShownValues`)."""

    def unseal(self, data: bytes) -> bytes:
        """The JSON of an event."""

    def decode(self, encoded: object) -> object:
        """What an encoded value stands for."""


def encode_event(event: Event, values: ValueTable) -> Record:
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
        if "error" in fields:
            fields["error"] = to_data(fields["error"])
    return Record(kind, values.seal(orjson.dumps(fields)), tuple(blobs))


def _fragments(
    writes: Mapping[str, object], values: ValueTable, blobs: list[tuple[str, bytes]]
) -> dict[str, orjson.Fragment]:
    return {key: _fragment(value, values, blobs) for key, value in writes.items()}


def _fragment(value: object, values: ValueTable, blobs: list[tuple[str, bytes]]) -> orjson.Fragment:
    encoded = values.encode(value)
    if encoded.blob is not None and (blob := values.take_blob(encoded)):
        blobs.append(blob)
    return orjson.Fragment(encoded.json)


def decode_event(record: Record, values: Reading) -> Event:
    """The event that a record holds; raises `DamagedError`."""
    try:
        fields = orjson.loads(values.unseal(record.data))
        for name in _VALUES.get(record.kind, ()):
            fields[name] = values.decode(fields[name])
        for name in _MAPS.get(record.kind, ()):
            fields[name] = {key: values.decode(value) for key, value in fields[name].items()}
        if "error" in fields:
            fields["error"] = from_data(fields["error"])
        if "rerun" in fields:
            fields["rerun"] = tuple(fields["rerun"])
        return EVENTS[record.kind](**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(record) from error


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


def step_of(record: Record) -> str:
    """The step of an event of a step or an item; raises `DamagedError`."""
    try:
        return str(orjson.loads(record.data)["step"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(record) from error


def decode_events(records: Sequence[Record], values: Reading) -> list[Event]:
    """Several events, in order."""
    return [decode_event(record, values) for record in records]


def _damaged(record: Record) -> DamagedError:
    return DamagedError(f"the journal holds an event of kind `{record.kind}` that cannot be read")
