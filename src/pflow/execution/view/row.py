"""A step as one row of a page: each of its attempts with its time, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.event import StepCompleted, StepFailed, StepNotYet, StepStarted
from pflow.engine.ending.look import Look, look_of
from pflow.engine.model.spending import Spent
from pflow.execution.view.items import Items

_UNDER_WAY = ("running", "retrying", "not_yet")
_MOST_MESSAGE = 300


class Bar:
    """One attempt on the time axis; without an `end` it is under way."""

    __slots__ = ("at", "end", "look", "number")

    def __init__(self, number: int, at: float) -> None:
        self.number = number
        self.at = at
        self.end: float | None = None
        self.look: Look = "running"

    def as_data(self) -> list[object]:
        """As a page gets it."""
        return [round(self.at, 4), None if self.end is None else round(self.end, 4), self.look, self.number]


class Row:
    """What is known of one step."""

    def __init__(self, step: str, number: int) -> None:
        self.step = step
        self.number = number
        self.node = ""
        self.status = "running"
        self.source = ""
        self.action = ""
        self.message = ""
        self.section = ""
        self.repeatable = False
        self.copied = False
        self.bars: list[Bar] = []
        self.waits: list[tuple[float, float | None]] = []
        self.items: Items | None = None
        self.spent: Spent | None = None
        self.ms: float | None = None
        self._since = 0.0

    @property
    def is_under_way(self) -> bool:
        """Whether an attempt runs, or another one follows."""
        return self.status in _UNDER_WAY

    def begin(self, event: StepStarted) -> None:
        """An attempt begins."""
        self.node = event.node
        if self.copied or self.status not in ("retrying", "not_yet"):
            self._since = event.at
        self.status, self.source, self.message, self.action = "running", "", "", ""
        self.ms = None
        self.repeatable = event.repeatable
        self._become_own()
        self.bars.append(Bar(event.attempt, event.at))
        if event.items and (self.items is None or len(self.items) != event.items):
            self.items = Items(event.items)

    def end(self, event: StepCompleted | StepFailed | StepNotYet, now: float) -> float:
        """An attempt ends; when that was."""
        self._become_own()
        if not self.bars or self.bars[-1].end is not None:
            self.bars.append(Bar(1, now))  # what is kept or found never began
            self._since = now
        bar = self.bars[-1]
        self.ms = round(event.ms, 3)
        bar.end = max(self._since + event.ms / 1000, bar.at)  # the time counts from the first of several attempts
        match event:
            case StepCompleted():
                self.status = "skipped" if event.source == "skipped" else "completed"
                self.source, self.action = event.source, event.action
            case StepFailed():
                self.status = (
                    "retrying" if event.retry_in is not None else "failed" if event.action is None else "handled"
                )
                self.action = event.action or ""
                self.message = str(event.error.get("message", ""))[:_MOST_MESSAGE]
            case StepNotYet():
                self.status, self.message = "not_yet", event.reason[:_MOST_MESSAGE]
        bar.look = (
            self.look if isinstance(event, StepCompleted) else "failed" if isinstance(event, StepFailed) else "done"
        )
        return bar.end

    def _become_own(self) -> None:
        """What was copied from another run has its time there."""
        if self.copied:
            self.copied = False
            self.bars.clear()
            self.waits.clear()

    def cut_off(self, last: float) -> None:
        """The process that ran the step is gone: what had begun may have happened or not, unless it only reads."""
        if not self.is_under_way:
            return
        self.status = "interrupted" if self.repeatable else "in_doubt"
        if self.bars and self.bars[-1].end is None:
            self.bars[-1].end = max(last, self.bars[-1].at)
            self.bars[-1].look = self.look
        if self.items is not None:
            self.items.cut_off()

    @property
    def look(self) -> Look:
        """The class that it is drawn with."""
        return look_of(self.status, self.source)

    def as_data(self, status: str) -> dict[str, object]:
        """As a page gets it, with the status that it has for somebody who knows whether its process is alive."""
        look = look_of(status, self.source)
        data: dict[str, object] = {
            "step": self.step,
            "node": self.node,
            "n": self.number,
            "status": status,
            "look": look,
        }
        bars = [bar.as_data() for bar in self.bars]
        if bars and bars[-1][1] is None:
            bars[-1][2] = look
        data["bars"] = bars
        facts: Mapping[str, object] = {
            "waits": self.waits,
            "source": "" if self.source == "run" else self.source,
            "action": self.action,
            "message": self.message,
            "section": self.section,
            "tokens": self.spent and self.spent.tokens,
            "cost": self.spent and self.spent.cost,
            "ms": self.ms,
            "items": self.items.as_data() if self.items is not None and len(self.items) else None,
        }
        data.update({name: value for name, value in facts.items() if value})
        return data
