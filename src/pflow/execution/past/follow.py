"""Follows a run that any process drives: its events as they become durable, and what its steps say meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pflow.adapters.live_output import LiveLine, LiveReader
from pflow.core.event import Event, StepCompleted, StepFailed, StepNotYet, StepStarted
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.engine.codec import decode_event
from pflow.engine.ports import Journal, RunInfo
from pflow.engine.value import ShownValues
from pflow.execution.conclusion import exit_code_of
from pflow.execution.trace import read_trace

Heard = Event | LiveLine
"""What a follower hears: a durable event, or a line that a step says."""

_LOOK_SECONDS = 0.1
_SHOWN = ShownValues()


class Ending(Frozen):
    """How a followed run stands at its end: its trace, and the exit code that `pflow run` would have had."""

    trace: JsonView
    exit_code: int


def follow(
    journal: Journal, folder: Path, run_id: str, *, pause: Callable[[float], None] = time.sleep
) -> Iterator[Heard]:
    """Everything that the run has done and does, until it ends or its process is gone. A run that waits goes on."""
    reader = LiveReader(folder, run_id)
    order = _Order()
    seen, version = 0, ""
    try:
        while True:
            info = journal.info(run_id)  # before the version, and that before the events: what ends it is among them
            now = journal.version()
            changed = now != version
            version = now
            records = journal.read(run_id, seen) if changed else ()
            seen += len(records)
            yield from order.merge([decode_event(record, _SHOWN) for record in records], [*reader.read()])
            if not _goes_on(info):
                return
            if not changed:
                pause(_LOOK_SECONDS)
    finally:
        reader.close()


class _Order:
    """Puts events and lines in the order in which they happened, as far as their times tell; events keep theirs."""

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._last = 0.0

    def merge(self, events: Sequence[Event], lines: Sequence[LiveLine]) -> list[Heard]:
        """What has come since the last time."""
        timed: list[tuple[float, Heard]] = [(self._time(event), event) for event in events]
        timed += [(line.at, line) for line in lines]
        return [heard for _, heard in sorted(timed, key=lambda pair: pair[0])]

    def _time(self, event: Event) -> float:
        at = getattr(event, "at", None)
        if isinstance(event, StepStarted):
            if event.attempt == 1:  # the time of a step counts from its first attempt on
                self._begun[event.step] = event.at
        elif isinstance(event, StepCompleted | StepFailed | StepNotYet):
            at = self._begun.get(event.step, self._last) + event.ms / 1000
        self._last = max(self._last, at if isinstance(at, float) else 0.0)
        return self._last


def end_of(journal: Journal, run_id: str) -> Ending:
    """How a run that was followed stands now."""
    trace = read_trace(journal, run_id)
    return Ending(trace=trace, exit_code=exit_code_of(trace))


def _goes_on(info: RunInfo) -> bool:
    return info.state in ("running", "waiting")
