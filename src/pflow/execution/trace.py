"""A run as one JSON document, folded from its journal: every step, every small value, large ones by reference."""

from __future__ import annotations

import os
import re
import time
from binascii import crc32
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from pflow.core.advice import Advice
from pflow.core.errors import DamagedError, NotFoundError, SecurityError, StorageError
from pflow.core.event import (
    DoubtSettled,
    Event,
    ModelUsed,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunForked,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
    StepStarted,
)
from pflow.core.file.atomic import read_private, sweep_temps, write_atomic
from pflow.core.json_type import JsonView
from pflow.engine.again.name import top_of
from pflow.engine.codec import decode_event
from pflow.engine.ending.worked import Worked
from pflow.engine.history import scope_of
from pflow.engine.ports import Journal, Record, RunInfo
from pflow.engine.value import ShownValues
from pflow.execution.again.item_count import ITEM_KINDS, CountedItems
from pflow.execution.past.attempt import Attempts

Steps = dict[str, dict[str, object]]
"""What is told of each step, by its name."""

if TYPE_CHECKING:
    from pflow.engine.model.spending import Spending
    from pflow.execution.asking.wait_trace import WaitTrace

Clock = Callable[[], float | None]
"""Gives the moment up to which ages count, if that is known."""

_SHOWN = ShownValues()
_ENDS = {RunCompleted: "completed", RunFailed: "failed", RunStopped: "stopped", RunCancelled: "cancelled"}
_OVER = ("completed", "failed", "cancelled")
_PREFIX = "workflow-trace-"
_MOST_BYTES = 64 << 20
_FEW_TRACES = 100
_EVERY_TRACES = 64
"""One trace in so many, by chance, makes pflow look at all of them; a few too many do no harm."""

_PRUNED = ".pruned"
_PRUNING_SECONDS = 60.0
"""Between two looks at all traces, however many runs there are meanwhile."""


def read_trace(journal: Journal, run_id: str) -> dict[str, object]:
    """The trace of a run as it stands now."""
    info = journal.info(run_id)
    return trace_of(run_id, journal.read(run_id), info)


def trace_of(run_id: str, records: Sequence[Record], info: RunInfo) -> dict[str, object]:
    """The trace that records of a run give; `info` was looked up before them, or tells no more than they do."""
    trace = build_trace(run_id, records, alive=info.alive)
    if trace["status"] == "running" or info.status == "damaged":  # else its end is newer than what was looked up first
        trace["status"] = info.state
    return trace


def build_trace(run_id: str, records: Sequence[Record], *, alive: bool = False) -> dict[str, object]:
    """The trace of a run, whose process is `alive` or not. Large values are `{"$value": digest, "size": bytes}`."""
    trace: dict[str, object] = {"trace_version": 1, "run_id": run_id, "status": "running"}
    steps: Steps = {}
    items = CountedItems(_SHOWN)
    worked = Worked(whole=True)
    attempts = Attempts()
    sections: dict[str, str] = {}
    waits: WaitTrace | None = None
    spending: Spending | None = None
    for record in records:
        try:
            if record.kind in ITEM_KINDS:
                items.note(record)
                continue
            event = decode_event(record, _SHOWN)
        except DamagedError as error:
            raise DamagedError(f"the journal of run `{run_id}` cannot be read to its end") from error
        worked.note(event)
        attempts.note(event)
        if isinstance(event, StepAsked | StepAnswered):
            waits = waits or _new_waits()
            waits.note(event)
            continue
        if isinstance(event, ModelUsed):
            spending = spending or _new_spending()
            spending.note(event)
            continue
        if isinstance(event, StepStarted):
            items.begin(event)
        _add(trace, steps, waits, event)
        _add_section(trace, steps, sections, event)
    items.tell(steps)
    if waits is not None:
        waits.add_to(steps, alive=alive, over=trace["status"] in _OVER)
    if spending is not None:
        _add_costs(trace, steps, spending)
    if "ended_at" in trace:
        _tell_time(trace, worked.seconds, rested=waits is not None or "resumed" in trace)
    if trace["status"] != "running" or not alive:
        _cut_off(steps)
    attempts.tell(steps)
    for entry in steps.values():
        entry.pop("repeatable", None)  # its status tells it where it matters
    trace["steps"] = [entry for entry in steps.values() if not _is_mere_copy(entry, steps)]
    return trace


def _tell_time(trace: dict[str, object], worked: float, *, rested: bool) -> None:
    """Say how long processes worked on the run, and how long it waited: for answers, or for somebody to resume it."""
    trace["duration_ms"] = round(worked * 1000, 3)
    began, ended = trace.get("started_at"), trace.get("ended_at")
    if rested and isinstance(began, float) and isinstance(ended, float):
        trace["waited_ms"] = round(max(ended - began - worked, 0.0) * 1000, 3)


def _add_section(trace: dict[str, object], steps: Steps, sections: dict[str, str], event: Event) -> None:
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


def _cut_off(steps: Steps, waits: WaitTrace | None = None) -> None:
    """The process that ran the steps is gone: what had begun may have happened or not, unless it reads or waits."""
    for entry in steps.values():
        if entry.get("status") == "running" and not (waits is not None and waits.holds(str(entry["step"]))):
            entry["status"] = "interrupted" if entry.get("repeatable") else "in_doubt"


def _new_waits() -> WaitTrace:
    from pflow.execution.asking.wait_trace import WaitTrace  # lazy: many runs never wait

    return WaitTrace()


def _new_spending() -> Spending:
    from pflow.engine.model.spending import Spending  # lazy: many runs ask no model

    return Spending()


def _add_costs(trace: dict[str, object], steps: Steps, spending: Spending) -> None:
    """Say what language models took for the run and for each step, all attempts together."""
    trace.update(tokens=spending.total.tokens, cost=spending.total.cost)
    for step, spent in spending.by_step.items():
        if step in steps:
            steps[step].update(tokens=spent.tokens, cost=spent.cost)


def _add(trace: dict[str, object], steps: Steps, waits: WaitTrace | None, event: Event) -> None:
    match event:
        case StepStarted() | StepCompleted() | StepFailed() | StepNotYet():
            _add_step(steps, event)
        case RunStarted():
            trace.update(workflow=event.workflow, started_at=event.at, inputs=event.inputs)
            if event.forked_from:
                trace["forked_from"] = event.forked_from
            trace.update({name: cause for name in ("schedule", "parent", "queue") if (cause := getattr(event, name))})
            if event.state_scope or event.state:
                trace["state"] = {"found": dict(event.state), **({"trial": True} if event.is_trial else {})}
        case RunForked():
            trace["only" if event.only else "forked_at"] = event.step
            for entry in steps.values():
                entry["copied"] = True
        case DoubtSettled():
            facts = {name: value for name, value in event._asdict().items() if value}
            trace["settled"] = [*_list(trace.get("settled")), facts]
            if event.outcome == "rerun" and event.step in steps:
                steps[event.step]["repeatable"] = True
        case RunResumed():
            if event.lost_files:
                trace["lost_files"] = list(event.lost_files)
            if waits is not None:
                waits.note(event)
            _cut_off(steps, waits)
            trace["resumed"] = [*_list(trace.get("resumed")), event.at]
            trace["status"] = "running"
            for name in ("error", "reason", "ended_at", "duration_ms", "outputs"):
                trace.pop(name, None)  # it has not ended after all
            if event.document is not None:
                trace.update(edited=True, inputs=event.inputs)
            if event.state:
                trace["state"] = {**_object(trace.get("state")), "found": _joined(trace.get("state"), event.state)}
        case RunStopped(reason="waiting" | "handed_over"):
            trace["status"] = "waiting"  # it has not ended
        case RunCompleted() | RunFailed() | RunStopped() | RunCancelled():
            facts = event._asdict()
            ended_at = facts.pop("at")
            facts.pop("orphaned", None)
            if kept := facts.pop("state", None):
                trace["state"] = {**_object(trace.get("state")), "kept": kept}
            trace.update(status=_ENDS[type(event)], ended_at=ended_at, duration_ms=0.0)
            trace.update(facts)


def _is_mere_copy(entry: dict[str, object], steps: Steps) -> bool:
    """Whether a step was copied from another run, and this one neither kept it nor a step that it is inside of."""
    if not entry.pop("copied", False):
        return False
    outer = steps.get(top_of(str(entry["step"])), entry)
    return outer is entry or outer.get("source") != "reuse"


def _add_step(steps: Steps, event: StepStarted | StepCompleted | StepFailed | StepNotYet) -> None:
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
            if event.state:
                entry["state"] = event.state
            if event.failed_items:
                entry["items_failed"] = event.failed_items
            if event.declined_items:
                entry["items_declined"] = event.declined_items
        case StepFailed():
            status = "retrying" if event.retry_in is not None else "failed" if event.action is None else "handled"
            entry.update(status=status, ms=event.ms, error=event.error)
            if event.action is not None:
                entry["action"] = event.action
            if event.retry_in is None:
                entry["params"] = event.params
        case StepNotYet():
            entry.update(status="not_yet", ms=event.ms, reason=event.reason)


def _joined(known: object, new: JsonView) -> dict[str, object]:
    """The state that a run found, with what it read only when it was resumed."""
    found = dict(_object(_object(known).get("found")))
    for scope, values in new.items():
        found[scope] = {**_object(found.get(scope)), **_object(values)}
    return found


def _object(value: object) -> JsonView:
    return value if isinstance(value, Mapping) else {}


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
    if crc32(keep.encode()) % _EVERY_TRACES or _was_pruned(folder):
        return []  # listing thousands of files takes longer than a short run
    names = [name for name in _trace_names(folder) if name != keep]
    if len(names) < _FEW_TRACES:
        return []
    with suppress(StorageError):
        write_atomic(folder / _PRUNED, b"", durable=False)
    sweep_temps(folder, limit=len(names) + _FEW_TRACES)
    found = []
    for name in names:
        try:
            facts = os.lstat(f"{folder}/{name}")  # a `Path` of each takes three times as long
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


def _was_pruned(folder: Path) -> bool:
    try:
        return abs(time.time() - os.lstat(f"{folder}/{_PRUNED}").st_mtime) < _PRUNING_SECONDS
    except OSError:
        return False


def find_trace(folder: Path, reference: str, journal: Journal) -> dict[str, object]:
    """The trace that `reference` means: a run, see `find_run`, or a path inside the trace directory."""
    if not (re.search(r"[/\\]|^[~.]", reference) or (reference.startswith(_PREFIX) and reference.endswith(".json"))):
        from pflow.execution.run_lookup import find_run  # lazy: a run that ends is not looked up

        return read_trace(journal, find_run(journal, reference))
    name = Path(reference).expanduser()
    if folder / name.name != (name if name.is_absolute() else folder / name):
        raise SecurityError("a trace is `latest`, a run id, a workflow's name, or a file in the trace directory")
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
