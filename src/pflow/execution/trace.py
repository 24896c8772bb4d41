"""A run as one JSON document, folded from its journal: every step, every small value, large ones by reference."""

from __future__ import annotations

import os
import re
from binascii import crc32
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import DamagedError, NotFoundError, SecurityError, StorageError
from pflow.core.event import (
    Event,
    ItemFailed,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.file.atomic import read_private, sweep_temps, write_atomic
from pflow.engine.codec import decode_event, step_of
from pflow.engine.history import scope_of
from pflow.engine.ports import Journal, Record
from pflow.engine.value import ShownValues
from pflow.execution.run_lookup import find_run

Clock = Callable[[], float | None]
"""Gives the moment up to which ages count, if that is known."""

_SHOWN = ShownValues()
_ENDS = {RunCompleted: "completed", RunFailed: "failed", RunStopped: "stopped", RunCancelled: "cancelled"}
_PREFIX = "workflow-trace-"
_MOST_BYTES = 64 << 20
_FEW_TRACES = 100
_EVERY_TRACES = 64
"""One trace in so many, by chance, makes pflow look at all of them; a few too many do no harm."""


def read_trace(journal: Journal, run_id: str) -> dict[str, object]:
    """The trace of a run as it stands now."""
    info = journal.info(run_id)
    trace = build_trace(run_id, journal.read(run_id), alive=info.alive)
    if trace["status"] == "running" or info.status == "damaged":  # else its end is newer than what was looked up first
        trace["status"] = info.state
    return trace


def build_trace(run_id: str, records: Sequence[Record], *, alive: bool = False) -> dict[str, object]:
    """The trace of a run, whose process is `alive` or not. Large values are `{"$value": digest, "size": bytes}`."""
    trace: dict[str, object] = {"trace_version": 1, "run_id": run_id, "status": "running"}
    steps: dict[str, dict[str, object]] = {}
    done: dict[str, int] = {}
    sections: dict[str, str] = {}
    for record in records:
        try:
            if record.kind == "ItemCompleted":  # a trace tells only the number of items
                step = step_of(record)
                done[step] = done.get(step, 0) + 1
            elif record.kind not in ("ItemStarted", "ItemNotYet"):
                event = decode_event(record, _SHOWN)
                _add(trace, steps, event)
                _add_section(trace, steps, sections, event)
        except DamagedError as error:
            raise DamagedError(f"the journal of run `{run_id}` cannot be read to its end") from error
    for step, count in done.items():
        steps.setdefault(step, {"step": step})["items_completed"] = count
    if trace["status"] != "running" or not alive:
        _cut_off(steps)
    for entry in steps.values():
        entry.pop("repeatable", None)  # its status tells it where it matters
    trace["steps"] = list(steps.values())
    return trace


def _add_section(
    trace: dict[str, object], steps: dict[str, dict[str, object]], sections: dict[str, str], event: Event
) -> None:
    """Say of each step of `on_failure` and `finally` that it is one; `sections` has what is under way, by scope."""
    match event:
        case RunEnding():
            sections[event.scope] = event.section
            if not event.scope:
                trace["ending"] = event.status
        case StepStarted() if sections:
            if section := sections.get(scope_of(event.step)):
                steps[event.step]["section"] = section
            for scope in [one for one in sections if one.startswith((f"{event.step}/", f"{event.step}["))]:
                del sections[scope]  # another attempt at a sub-workflow
        case RunCompleted() | RunFailed() | RunCancelled() if sections:
            sections.clear()
            trace.pop("ending", None)


def _cut_off(steps: dict[str, dict[str, object]]) -> None:
    """The process that ran the steps is gone: what had begun may have happened or not, unless it only reads."""
    for entry in steps.values():
        if entry.get("status") == "running":
            entry["status"] = "interrupted" if entry.get("repeatable") else "in_doubt"


def _add(trace: dict[str, object], steps: dict[str, dict[str, object]], event: Event) -> None:
    match event:
        case StepStarted() | StepCompleted() | StepFailed() | StepNotYet() | ItemFailed():
            _add_step(steps, event)
        case RunStarted():
            trace.update(workflow=event.workflow, started_at=event.at, inputs=event.inputs)
        case RunResumed():
            _cut_off(steps)
            trace["resumed"] = [*_list(trace.get("resumed")), event.at]
            trace["status"] = "running"
            trace.pop("error", None)
            if event.document is not None:
                trace["edited"] = True
        case RunCompleted() | RunFailed() | RunStopped() | RunCancelled():
            facts = event._asdict()
            ended_at = facts.pop("at")
            trace.update(status=_ENDS[type(event)], ended_at=ended_at)
            started_at = trace.get("started_at")
            if isinstance(started_at, float) and isinstance(ended_at, float):
                trace["duration_ms"] = round((ended_at - started_at) * 1000, 3)
            trace.update(facts)


def _add_step(
    steps: dict[str, dict[str, object]], event: StepStarted | StepCompleted | StepFailed | StepNotYet | ItemFailed
) -> None:
    if isinstance(event, StepStarted):
        steps.pop(event.step, None)  # a step that begins again comes last
    entry = steps.setdefault(event.step, {"step": event.step})
    match event:
        case StepStarted():
            entry.update(node=event.node, status="running", started_at=event.at, attempt=event.attempt)
            if event.items:
                entry["items"] = event.items
            if event.repeatable:
                entry["repeatable"] = True
        case StepCompleted():
            status = "skipped" if event.source == "skipped" else "completed"
            entry.update(status=status, ms=event.ms, action=event.action, source=event.source)
            entry["outputs"] = event.writes
            if event.failed_items:
                entry["items_failed"] = event.failed_items
        case StepFailed():
            status = "retrying" if event.retry_in is not None else "failed" if event.action is None else "handled"
            entry.update(status=status, ms=event.ms, error=event.error)
            if event.action is not None:
                entry["action"] = event.action
            if event.retry_in is None:
                entry["params"] = event.params
        case StepNotYet():
            entry.update(status="not_yet", ms=event.ms, reason=event.reason)
        case ItemFailed():
            errors = entry.setdefault("item_errors", [])
            if isinstance(errors, list):
                errors.append({"index": event.item, "error": event.error})
            if event.final:
                count = entry.get("items_failed")
                entry["items_failed"] = count + 1 if isinstance(count, int) else 1


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def write_trace(
    folder: Path, run_id: str, records: Sequence[Record], *, keep_days: float, max_mb: float, now: Clock
) -> Path:
    """Write the run's trace file, replacing an earlier one of the same run, and delete old ones."""
    trace = build_trace(run_id, records)
    path = folder / f"{_PREFIX}{run_id}.json"
    write_atomic(path, orjson.dumps(trace, option=orjson.OPT_INDENT_2), durable=False)
    prune_traces(folder, keep_days=keep_days, max_mb=max_mb, keep=path.name, now=now)
    return path


def prune_traces(folder: Path, *, keep_days: float, max_mb: float, keep: str, now: Clock) -> list[str]:
    """Delete traces that are too old, then the oldest until the directory is small enough."""
    if crc32(keep.encode()) % _EVERY_TRACES:
        return []  # listing thousands of files takes longer than a short run
    names = [name for name in _trace_names(folder) if name != keep]
    if len(names) < _FEW_TRACES:
        return []
    sweep_temps(folder, limit=len(names) + _FEW_TRACES)
    found = []
    for name in names:
        try:
            facts = (folder / name).lstat()
        except OSError:
            continue
        found.append((facts.st_mtime, facts.st_size, name))
    found.sort(reverse=True)
    oldest = (now() or 0.0) - keep_days * 86400
    room = max_mb * (1 << 20)
    gone = []
    for at, size, name in found:
        room -= size
        if at < oldest or room < 0:
            try:
                (folder / name).unlink()
            except OSError:
                continue
            gone.append(name)
    return gone


def find_trace(folder: Path, reference: str, journal: Journal) -> dict[str, object]:
    """The trace that `reference` means: `latest`, a run id or its beginning, or a path inside the trace directory."""
    if re.fullmatch(r"[0-9a-f-]{1,64}|latest", reference):
        return read_trace(journal, find_run(journal, reference))
    name = Path(reference).expanduser()
    if folder / name.name != (name if name.is_absolute() else folder / name):
        raise SecurityError("a trace is `latest`, a run id, or a file in the trace directory")
    if not (name.name.startswith(_PREFIX) and name.suffix == ".json"):
        raise NotFoundError("there is no such trace", suggestions=[Advice("{list_runs}")])
    data = read_private(folder / name.name, _MOST_BYTES)
    try:
        loaded = orjson.loads(data)
    except ValueError as error:
        raise StorageError(f"trace `{name.name}` is not JSON") from error
    return loaded if isinstance(loaded, dict) else {}


def _trace_names(folder: Path) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.startswith(_PREFIX)]  # noqa: PTH208 ten times as fast
    except FileNotFoundError:
        return []
