"""A run as one JSON document, folded from its journal: every step, every small value, large ones by reference."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from pflow.core.errors import DamagedError, NotFoundError, SecurityError, StorageError
from pflow.core.file.atomic import read_private, sweep_temps, write_atomic
from pflow.engine.ports import Journal, Record
from pflow.execution.run_lookup import find_run

_ITEM_KINDS = frozenset({"ItemStarted", "ItemCompleted"})
_PREFIX = "workflow-trace-"
_LIMIT = 64 << 20
_FEW = 100
_EVERY = 20
"""Looking at all traces takes longer than a short run; a few too many do no harm."""


def build_trace(run_id: str, records: Sequence[Record]) -> dict[str, object]:
    """The trace of a run. Large values appear as `{"$value": digest, "size": bytes}`."""
    trace: dict[str, object] = {"trace_version": 1, "run_id": run_id, "status": "running"}
    steps: dict[str, dict[str, object]] = {}
    done: dict[str, int] = {}
    for record in records:
        if record.kind in _ITEM_KINDS:
            if record.kind == "ItemCompleted":
                step = _step_of(record.data)
                done[step] = done.get(step, 0) + 1
            continue
        try:
            _add(trace, steps, record.kind, orjson.loads(record.data))
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(f"the journal of run `{run_id}` cannot be read to its end") from error
    for step, count in done.items():
        steps.setdefault(step, {"step": step})["items_completed"] = count
    trace["steps"] = list(steps.values())
    return trace


def _step_of(data: bytes) -> str:
    return str(orjson.loads(data)["step"])


def _add(trace: dict[str, object], steps: dict[str, dict[str, object]], kind: str, event: dict[str, object]) -> None:
    if kind == "RunStarted":
        trace.update(workflow=event["workflow"], started_at=event["at"], inputs=_show_all(event["inputs"]))
    elif kind == "RunResumed":
        trace["resumed"] = [*_list(trace.get("resumed")), event["at"]]
        trace["status"] = "running"
        trace.pop("error", None)
        if event.get("document") not in (None, [None]):
            trace["edited"] = True
    elif kind == "StepStarted":
        step = str(event["step"])
        steps.pop(step, None)
        steps[step] = {
            "step": step,
            "node": event["node"],
            "status": "in_doubt",
            "started_at": event["at"],
            "attempt": event["attempt"],
        }
    elif kind == "StepCompleted":
        shown = _show_all(event["writes"])
        entry = steps.setdefault(str(event["step"]), {"step": event["step"]})
        entry.update(status="completed", ms=event["ms"], action=event["action"], source=event["source"], outputs=shown)
    elif kind == "StepFailed":
        entry = steps.setdefault(str(event["step"]), {"step": event["step"]})
        retrying = event["retry_in"] is not None
        entry.update(status="retrying" if retrying else "failed", ms=event["ms"], error=event["error"])
        if event["action"] is not None:
            entry.update(action=event["action"])
        if not retrying:
            entry["params"] = _show_all(event["params"])
    elif kind == "ItemFailed":
        entry = steps.setdefault(str(event["step"]), {"step": event["step"]})
        entry["item_errors"] = [
            *_list(entry.get("item_errors")),
            {"index": event["item"], "error": event["error"]},
        ]
    else:
        ends = {"RunCompleted": "completed", "RunFailed": "failed", "RunCancelled": "cancelled"}
        trace.update(status=ends.get(kind, "stopped"), ended_at=event["at"])
        started = trace.get("started_at")
        if isinstance(started, float) and isinstance(event["at"], float):
            trace["duration_ms"] = round((event["at"] - started) * 1000, 3)
        for name in ("error", "reason"):
            if name in event:
                trace[name] = event[name]
        if "outputs" in event:
            trace["outputs"] = _show_all(event["outputs"])


def _show_all(encoded: object) -> dict[str, object]:
    return {str(key): _show(value) for key, value in _dict(encoded).items()}


def _show(encoded: object) -> object:
    if isinstance(encoded, list):
        return encoded[0]
    if isinstance(encoded, dict):
        if "sha" in encoded:
            return {"$value": encoded["sha"], "size": encoded["size"]}
        if "tagged" in encoded:
            return encoded["tagged"]
        if "items" in encoded:
            return {"$items": "see the step's items"}
        return {f"${key}": value for key, value in encoded.items()}
    return encoded


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def write_trace(folder: Path, run_id: str, records: Sequence[Record], *, keep_days: float, max_mb: float) -> Path:
    """Write the run's trace file, replacing an earlier one of the same run, and let old ones go."""
    trace = build_trace(run_id, records)
    path = folder / f"{_PREFIX}{run_id}.json"
    write_atomic(path, orjson.dumps(trace, option=orjson.OPT_INDENT_2), durable=False)
    prune_traces(folder, keep_days=keep_days, max_mb=max_mb, keep=path.name)
    return path


def prune_traces(folder: Path, *, keep_days: float, max_mb: float, keep: str = "") -> list[str]:
    """Delete traces that are too old, then the oldest until the folder is small enough."""
    names = [name for name in _trace_names(folder) if name != keep]
    if keep and (len(names) < _FEW or len(names) % _EVERY):
        return []
    sweep_temps(folder, limit=len(names) + _FEW)
    found = []
    for name in names:
        try:
            facts = (folder / name).lstat()
        except OSError:
            continue
        found.append((facts.st_mtime, facts.st_size, name))
    found.sort(reverse=True)
    oldest = time.time() - keep_days * 86400
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
    """The trace that `reference` means: `latest`, a run id or its beginning, or a path inside the trace folder."""
    if re.fullmatch(r"[0-9a-f-]{1,64}|latest", reference):
        run_id = find_run(journal, reference)
        return build_trace(run_id, journal.read(run_id))
    name = Path(reference).expanduser()
    if name.is_absolute() and name.parent != folder:
        raise SecurityError("a trace is `latest`, a run id, or a file in the trace folder")
    if len(name.parts) > 1 and not name.is_absolute():
        raise SecurityError("a trace is `latest`, a run id, or a file in the trace folder")
    if not (name.name.startswith(_PREFIX) and name.suffix == ".json"):
        raise NotFoundError("there is no such trace", suggestions=["pflow runs list"])
    data = read_private(folder / name.name, _LIMIT)
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
