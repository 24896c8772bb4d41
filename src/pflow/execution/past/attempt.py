"""The attempts at each step of a run, for its trace: when each began, how long it took, and how it ended."""

from __future__ import annotations

from pflow.core.event import Event, RunResumed, StepCompleted, StepFailed, StepNotYet, StepStarted
from pflow.core.json_type import Json


class Attempts:
    """A fold of the events of steps. What was kept, settled or skipped is not an attempt."""

    def __init__(self) -> None:
        self._by_step: dict[str, list[Json]] = {}
        self._repeated: set[str] = set()
        self._first: dict[str, float] = {}

    def note(self, event: Event) -> None:
        """Take one event of the run into account."""
        match event:
            case StepStarted():
                tries = self._by_step.setdefault(event.step, [])
                if event.attempt == 1:
                    self._first[event.step] = event.at
                if tries:
                    self._repeated.add(event.step)
                tries.append({"attempt": event.attempt, "started_at": event.at, "status": "running"})
            case StepCompleted():
                self._end(event.step, event.ms, status="completed", source=event.source)
            case StepFailed():
                more = {} if event.retry_in is None else {"retry_in": event.retry_in}
                self._end(event.step, event.ms, status="failed", error=event.error, **more)
            case StepNotYet():
                self._end(event.step, event.ms, status="not_yet", reason=event.reason, retry_in=event.retry_in)
            case RunResumed():
                for tries in self._by_step.values():
                    if tries[-1]["status"] == "running":
                        tries[-1]["status"] = "cut_off"

    def tell(self, steps: dict[str, Json]) -> None:
        """Add the attempts to each step of a trace that had several."""
        for step in self._repeated & steps.keys():
            tries = [one for one in self._by_step[step] if one.get("source") in (None, "run", "cache")]
            if len(tries) > 1:
                if tries[-1]["status"] == "running":
                    tries[-1]["status"] = steps[step].get("status")
                steps[step]["attempts"] = [{name: one[name] for name in one if name != "source"} for one in tries]

    def _end(self, step: str, ms: float, **facts: object) -> None:
        """An attempt ended; `ms` is the time since the first one began."""
        tries = self._by_step.get(step)
        if tries and tries[-1]["status"] == "running":
            began = tries[-1]["started_at"]
            before = began - self._first.get(step, began) if isinstance(began, float) else 0.0
            tries[-1].update(ms=round(max(ms - before * 1000, 0.0), 3), **facts)
