"""How long processes have worked on a run, or on its main part, as its events tell."""

from __future__ import annotations

from pflow.core.event import (
    IN_DOUBT,
    Event,
    ItemCompleted,
    ItemFailed,
    ItemStarted,
    RunCancelled,
    RunCompleted,
    RunEnding,
    RunFailed,
    RunResumed,
    RunStarted,
    RunStopped,
    StepAnswered,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from pflow.engine.ending.under_way import UnderWay


class Worked:
    """The time from each start or resume to the last sign of life before the next one.

    The time in which all that was under way waited does not count, nor does what is said of a run in doubt, or done to
    one whose process is gone, when nobody works on it. Unless it is of the `whole` run, neither do sections.
    """

    __slots__ = ("_begun", "_ending", "_last", "_rested_from", "_since", "_total", "_under_way", "_whole")

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole
        self._begun: dict[str, float] = {}
        self._under_way = UnderWay()
        self._total = 0.0
        self._since = 0.0
        self._last = 0.0
        self._rested_from: float | None = None
        self._ending = False

    def note(self, event: Event) -> None:
        """Take one event of the run into account."""
        if isinstance(event, RunStarted | RunResumed):
            self._total += self._last - self._since
            self._since = self._last = event.at
            self._rested_from = None
            self._begun.clear()
            starts_over = event.document is not None or (isinstance(event, RunResumed) and bool(event.again))
            self._ending = self._ending and not starts_over
            is_renewed = isinstance(event, RunResumed) and event.is_renewed
            self._under_way.start_over(keeps_asked=not starts_over and not is_renewed)
            self._look(event.at)  # what was asked before is not asked again: the run may rest from here on
        elif self._ending:
            self._ending = not isinstance(event, RunFailed)
        elif (isinstance(event, RunStopped) and event.reason == IN_DOUBT) or (
            isinstance(event, RunCancelled) and event.orphaned
        ):
            return
        elif isinstance(event, ItemStarted):
            self._under_way.begin(f"{event.step}[{event.item}]")
            self._wake(event.at)
        elif isinstance(event, ItemCompleted | ItemFailed):
            self._under_way.end(f"{event.step}[{event.item}]")
        elif isinstance(event, StepAsked | StepAnswered):
            self._note_wait(event)
        elif isinstance(event, StepCompleted | StepFailed):
            # The time of a step counts from its first attempt on.
            is_over = isinstance(event, StepCompleted) or event.retry_in is None
            begun = self._begun.get(event.step, 0.0)
            if is_over:
                self._begun.pop(event.step, None)
                self._under_way.end(event.step)
                self._under_way.forget_asked(event.step)
            self._last = max(self._last, begun + event.ms / 1000)
            self._look(self._last)
        elif isinstance(event, StepStarted | RunEnding | RunCompleted | RunFailed | RunStopped | RunCancelled):
            self._wake(event.at)
            self._last = max(self._last, event.at)
            if isinstance(event, StepStarted):
                self._begun.setdefault(event.step, event.at)
                self._under_way.begin(event.step)
            self._ending = isinstance(event, RunEnding) and not event.scope and not self._whole

    @property
    def seconds(self) -> float:
        """How long it was in all."""
        return self._total + self._last - self._since

    def _note_wait(self, event: StepAsked | StepAnswered) -> None:
        name = event.step if event.item is None else f"{event.step}[{event.item}]"
        if isinstance(event, StepAsked):
            self._last = max(self._last, event.at)
            self._under_way.ask(name)
            self._look(event.at)
        else:
            self._under_way.answer(name)
            self._wake(event.at)
            self._last = max(self._last, event.at)

    def _look(self, at: float) -> None:
        """See whether all that is under way waits."""
        if self._rested_from is None and self._under_way.rests:
            self._rested_from = at

    def _wake(self, at: float) -> None:
        """Something goes on: the time of the rest does not count."""
        if self._rested_from is not None:
            self._since += max(at - self._rested_from, 0.0)
            self._rested_from = None
