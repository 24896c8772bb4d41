"""How long processes have worked on the main part of a run, as its events tell."""

from __future__ import annotations

from pflow.core.event import (
    Event,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepCompleted,
    StepFailed,
    StepStarted,
)


class Worked:
    """The time from each start or resume to the last sign of life before the next one; sections do not count."""

    __slots__ = ("_begun", "_ending", "_last", "_since", "_total")

    def __init__(self) -> None:
        self._begun: dict[str, float] = {}
        self._total = 0.0
        self._since = 0.0
        self._last = 0.0
        self._ending = False

    def note(self, event: Event) -> None:
        """Take one event of the run into account."""
        if isinstance(event, RunStarted | RunResumed):
            self._total += self._last - self._since
            self._since = self._last = event.at
            self._begun.clear()
            if event.document is not None:
                self._ending = False  # a run begins, or starts over with an edited document
        elif self._ending:
            self._ending = not isinstance(event, RunFailed)
        elif isinstance(event, StepCompleted | StepFailed):
            self._last = max(self._last, self._begun.pop(event.step, 0.0) + event.ms / 1000)
        elif isinstance(event, StepStarted | RunEnding | RunCompleted | RunFailed | RunStopped | RunCancelled):
            self._last = max(self._last, event.at)
            if isinstance(event, StepStarted):
                self._begun[event.step] = event.at
            self._ending = isinstance(event, RunEnding) and not event.scope

    @property
    def seconds(self) -> float:
        """How long it was in all."""
        return self._total + self._last - self._since
