"""How a run ended or waits, told from its events by a process that did not drive it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.event import (
    HANDED_OVER,
    IN_DOUBT,
    Event,
    ItemCompleted,
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
)
from pflow.engine.history import scope_of
from pflow.engine.model.spending import NOTHING, Spent
from pflow.engine.result import RunResult, count_items

_CANCELLED = {"type": "cancelled", "message": "the run was cancelled"}


class Ending:
    """Takes a run's events in order. `result` is there while the run has ended, or waits for something.

    The first `before` events were there before somebody had the run driven: steps and time count from then on.
    """

    def __init__(self, run_id: str, before: int = 0) -> None:
        self.result: RunResult | None = None
        self.is_doubtful = False
        """Whether whoever drove the run last found steps in doubt."""

        self._run_id = run_id
        self._before = before
        self._began: float | None = None
        self._completed: dict[str, None] = {}
        self._steps = 0
        self._failed: StepFailed | None = None
        self._asked: dict[tuple[str, int | None], StepAsked] = {}
        self._lost: dict[str, StepCompleted] = {}
        self._section = ""
        self._lost_in_sections: list[tuple[str, str, Mapping[str, object]]] = []
        self._spent: Spent | None = None

    def take(self, event: Event) -> None:
        """One more event."""
        self._before -= 1
        is_new = self._before < 0
        if is_new and self._began is None and isinstance(event, (RunStarted, RunForked, RunResumed)):
            self._began = event.at
        match event:
            case RunForked():
                self._steps = 0  # the copies that stand before it are another run's work
            case RunResumed():
                self._go_on()
            case StepCompleted():
                self._steps += is_new and event.source == "run"
                self._note_step(event)
            case ItemCompleted():
                self._steps += is_new
            case ModelUsed():
                self._spent = (self._spent or NOTHING).plus(event)
            case StepFailed() if event.retry_in is None:
                self._note_failure(event)
            case StepAsked():
                self._asked[event.step, event.item] = event
            case StepAnswered():
                self._asked.pop((event.step, event.item), None)
            case RunEnding():
                self._section = event.section if not event.scope else self._section
            case RunCompleted():
                self._end("completed", event.at, outputs=event.outputs)
            case RunFailed():
                self._end("failed", event.at, error=event.error)
            case RunCancelled():
                self._end("cancelled", event.at, error=_CANCELLED)
            case RunStopped():
                self._stop(event)

    def _go_on(self) -> None:
        """The run is taken up: where it was, or, if it had ended, before the steps that failed."""
        if self.result is not None and self.result.status in ("failed", "completed"):
            self._failed, self._section, self._lost_in_sections = None, "", []
        self.result, self.is_doubtful = None, False

    def _stop(self, event: RunStopped) -> None:
        if event.reason == IN_DOUBT:
            self.is_doubtful = True
        elif event.reason == "waiting":
            self._end("waiting", event.at, waiting=tuple(self._asked.values()))
        elif event.reason != HANDED_OVER:
            message = f"the run was stopped ({event.reason}); it can be resumed"
            self._end("stopped", event.at, error={"type": "interrupted", "message": message})

    def _note_step(self, event: StepCompleted) -> None:
        if not scope_of(event.step) and event.source != "skipped":
            self._completed[event.step] = None
        self._lost.pop(event.step, None)
        if event.failed_items:
            self._lost[event.step] = event

    def _note_failure(self, event: StepFailed) -> None:
        if scope_of(event.step):
            return
        if self._section:
            self._lost_in_sections.append((self._section, event.step, event.error))
        elif event.action is None:
            self._failed = event

    def _end(
        self,
        status: str,
        at: float,
        *,
        outputs: Mapping[str, object] | None = None,
        error: Mapping[str, object] | None = None,
        waiting: Sequence[StepAsked] = (),
    ) -> None:
        failed = self._failed if status == "failed" else None
        self.result = RunResult(
            run_id=self._run_id,
            status=status,
            outputs=outputs or {},
            error=error,
            failed_node=failed.step if failed is not None else None,
            params=failed.params if failed is not None else None,
            completed=tuple(self._completed),
            steps=self._steps,
            duration_ms=round((at - (at if self._began is None else self._began)) * 1000, 3),
            failed_items=tuple(map(count_items, self._lost.values())),
            declined_items={step: event.declined_items for step, event in self._lost.items() if event.declined_items},
            failed_in_sections=tuple(self._lost_in_sections),
            waiting=tuple(waiting),
            spent=self._spent,
        )
