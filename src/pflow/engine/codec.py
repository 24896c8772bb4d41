"""Events to journal records and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from pflow.core.advice import from_data, to_data
from pflow.core.errors import DamagedError
from pflow.core.event import EVENTS, Cause, Event
from pflow.core.setting.redactor import has_marker, show_markers
from pflow.engine.ports import Record
from pflow.engine.value import ShownValues, ValueTable

_STATE = "state"
"""A field that maps scopes to names to values. Few events have one, and the others are recorded without it."""

_MAPS = {
    "RunStarted": "inputs",
    "RunResumed": "inputs",
    "StepFailed": "params",
    "StepCompleted": "writes",
    "ItemCompleted": "writes",
    "RunCompleted": "outputs",
    "StepAsked": "show",
    "StepAnswered": "answer",
}
"""The field that maps names to values: each value is recorded on its own, so that none is stored twice."""

Reading = ValueTable | ShownValues
"""How recorded values are read: as what they were, or as they are shown."""


def encode_event(event: Event, values: ValueTable) -> Record:
    """One event as the journal keeps it: without fields that it was not given, which have their defaults."""
    blobs: list[tuple[str, bytes]] = []
    kind = type(event).__name__
    fields: dict[str, Any] = dict(event.__dict__)
    if "document" in fields:
        fields["document"] = _fragment(fields["document"], values, blobs)
    name = _MAPS.get(kind)
    if name is not None and (recorded := fields.get(name)):
        fields[name] = {key: _fragment(value, values, blobs) for key, value in recorded.items()}
    if _STATE in fields:
        fields[_STATE] = {
            scope: {key: _fragment(value, values, blobs) for key, value in kept.items()}
            for scope, kept in fields[_STATE].items()
        }
    if "error" in fields:
        fields["error"] = to_data(fields["error"])
    return Record(kind, values.seal(orjson.dumps(fields)), tuple(blobs))


def _fragment(value: object, values: ValueTable, blobs: list[tuple[str, bytes]]) -> orjson.Fragment:
    encoded = values.encode(value)
    if encoded.blob is not None and (blob := values.take_blob(encoded)):
        blobs.append(blob)
    return orjson.Fragment(encoded.json)


def decode_event(record: Record, values: Reading) -> Event:
    """The event that a record holds; raises `DamagedError`."""
    try:
        fields = orjson.loads(record.data)
        name = _MAPS.get(record.kind)
        if marked := has_marker(record.data):
            apart = ("document", name, _STATE)
            fields = {
                key: value if key in apart else values.unseal(value, whole=False) for key, value in fields.items()
            }
        if "document" in fields:
            fields["document"] = values.decode(fields["document"], marked=marked)
        if name in fields:
            fields[name] = _decode_map(fields[name], values, marked)
        if _STATE in fields:
            kept = fields[_STATE].items()
            fields[_STATE] = {_shown(scope, values, marked): _decode_map(of, values, marked) for scope, of in kept}
        if "error" in fields:
            fields["error"] = from_data(fields["error"])
        if "rerun" in fields:
            fields["rerun"] = tuple(fields["rerun"])
        if "lost_files" in fields:
            fields["lost_files"] = tuple(fields["lost_files"])
        if "again" in fields:
            fields["again"] = {step: tuple(items) for step, items in fields["again"].items()}
        return EVENTS[record.kind](**fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(record) from error


def _decode_map(encoded: Mapping[str, object], values: Reading, marked: bool) -> dict[str, object]:
    return {_shown(key, values, marked): values.decode(value, marked=marked) for key, value in encoded.items()}


def _shown(key: str, values: Reading, marked: bool) -> str:
    return str(values.unseal(key, whole=False)) if marked else key


def mentions(text: str, *names: str, last: Callable[[], Record | None]) -> bool:
    """Whether a string occurs in a run's names or in the error of its last record, ignoring case."""
    wanted = text.casefold()
    return any(wanted in name.casefold() for name in names) or wanted in _error_text(last()).casefold()


def _error_text(record: Record | None) -> str:
    if record is None or record.kind != "RunFailed":
        return ""
    try:
        return str(show_markers(orjson.loads(record.data)["error"]["message"]))
    except (ValueError, KeyError, TypeError):
        return ""


def item_of(record: Record) -> tuple[str, int]:
    """The step and the number of an item that an event is about; raises `DamagedError`."""
    try:
        fields = orjson.loads(record.data)
        return str(show_markers(fields["step"])), int(fields["item"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(record) from error


def cause_of(records: Sequence[Record]) -> Cause:
    """Why a run exists and in which queue it is, as its first event says."""
    try:
        fields = orjson.loads(records[0].data)
        schedule, parent, queue = (str(fields.get(name, "")) for name in ("schedule", "parent", "queue"))
        return Cause(schedule=schedule, parent=parent, queue="" if has_marker(queue.encode()) else queue)
    except (ValueError, LookupError, AttributeError):
        return Cause()


def _damaged(record: Record) -> DamagedError:
    return DamagedError(f"the journal holds an event of kind `{record.kind}` that cannot be read")
