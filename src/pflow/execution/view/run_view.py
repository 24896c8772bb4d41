"""A run as a page shows it, folded from its journal record by record, so that a page is told only what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.errors import DamagedError
from pflow.core.event import (
    DoubtSettled,
    Event,
    ItemFailed,
    ItemStarted,
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
from pflow.engine.again.name import top_of
from pflow.engine.codec import decode_event, item_of
from pflow.engine.ending.worked import Worked
from pflow.engine.history import scope_of
from pflow.engine.model.spending import Spending
from pflow.engine.ports import Record, RunInfo
from pflow.engine.value import ShownValues
from pflow.execution.again.item_count import ITEM_KINDS
from pflow.execution.asking.wait_trace import WaitTrace
from pflow.execution.view.items import DONE, FAILED, RUNNING, WAITING, Items
from pflow.execution.view.row import Row

_SHOWN = ShownValues()
_OVER = ("completed", "failed", "cancelled")
_NOT_SHOWN = ("at", "state", "orphaned")
_ENDS = {RunCompleted: "completed", RunFailed: "failed", RunStopped: "stopped", RunCancelled: "cancelled"}


class RunView:
    """What happened in a run so far. `seq` is the number of the record that comes next."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.seq = 0
        self.is_damaged = False
        self._head: dict[str, object] = {"run_id": run_id, "workflow": "", "status": "running"}
        self._rows: dict[str, Row] = {}
        self._changed: dict[str, None] = {}
        self._worked = Worked(whole=True)
        self._waits = WaitTrace()
        self._sections: dict[str, str] = {}
        self._last = 0.0
        self._kept_bytes = 0
        self._spending = Spending()
        self._shown_as: dict[str, str] = {}

    def note(self, records: Sequence[Record]) -> None:
        """Take the next records into account. One that cannot be read ends the view: what was before it counts."""
        for record in records:
            if self.is_damaged:
                return
            try:
                self._note(record)
            except DamagedError:
                self.is_damaged = True
                return
            self.seq += 1

    def _note(self, record: Record) -> None:
        if record.kind in ITEM_KINDS:
            self._note_item(record)
            return
        event = decode_event(record, _SHOWN)
        self._worked.note(event)
        self._last = max(self._last, getattr(event, "at", 0.0))
        match event:
            case StepStarted():
                self._row(event.step).begin(event)
                self._place_last(event)
            case StepCompleted() | StepFailed() | StepNotYet():
                self._last = max(self._last, self._row(event.step).end(event, self._last))
                if isinstance(event, StepCompleted):
                    self._weigh(record, event)
            case StepAsked() | StepAnswered():
                self._note_wait(event)
            case ModelUsed():
                self._spending.note(event)
                self._row(event.step).spent = self._spending.by_step[event.step]
            case _:
                self._note_run(event)

    def _place_last(self, event: StepStarted) -> None:
        row = self._rows[event.step]
        if section := self._sections.get(scope_of(event.step)):
            row.section = section

    def _note_item(self, record: Record) -> None:
        if record.kind == "ItemCompleted":
            step, item = item_of(record)
            self._items(step).set(item, DONE)
            self._kept_bytes += len(record.data)
            return
        event = decode_event(record, _SHOWN)
        if isinstance(event, ItemStarted):
            self._items(event.step).set(event.item, RUNNING)
        elif isinstance(event, ItemFailed):
            self._items(event.step).set(event.item, FAILED if event.final else RUNNING)

    def _items(self, step: str) -> Items:
        row = self._row(step)
        if row.items is None:
            row.items = Items(0)
        return row.items

    def _note_wait(self, event: StepAsked | StepAnswered) -> None:
        self._waits.note(event)
        row = self._row(event.step)
        row.node = row.node or event.step.rpartition("/")[2].partition("#")[0]
        if isinstance(event, StepAsked):
            row.waits.append((event.at, None))
            if event.item is not None:
                self._items(event.step).set(event.item, WAITING)
        else:
            since = next((at for at, end in row.waits if end is None), event.at - event.waited)
            row.waits = [(at, end) for at, end in row.waits if (at, end) != (since, None)] + [(since, event.at)]
            if event.item is not None:
                self._items(event.step).set(event.item, RUNNING)

    def _note_run(self, event: Event) -> None:
        head = self._head
        match event:
            case RunStarted():
                head.update(workflow=event.workflow, started_at=event.at, inputs=event.inputs)
                if event.forked_from:
                    head["forked_from"] = event.forked_from
            case RunForked():
                head["only" if event.only else "forked_at"] = event.step
                for row in self._rows.values():
                    row.copied = True
                    self._changed[row.step] = None
            case RunResumed():
                self._waits.note(event)
                self._cut_off()
                head["status"] = "running"
                head["edited"] = bool(head.get("edited")) or event.document is not None
                for name in ("error", "reason", "ended_at"):
                    head.pop(name, None)
            case DoubtSettled() if event.outcome == "rerun" and event.step in self._rows:
                self._rows[event.step].repeatable = True
                self._changed[event.step] = None
            case RunEnding():
                self._sections[event.scope] = event.section
            case RunStopped(reason="waiting" | "handed_over"):
                head["status"] = "waiting"
            case RunCompleted() | RunFailed() | RunStopped() | RunCancelled():
                facts = {name: value for name, value in event._asdict().items() if name not in _NOT_SHOWN}
                head.update(status=_ENDS[type(event)], ended_at=event.at, **facts)
                self._sections.clear()

    def _cut_off(self) -> None:
        for row in self._rows.values():
            if row.is_under_way and not self._waits.holds(row.step):
                row.cut_off(self._last)
                self._changed[row.step] = None

    def _weigh(self, record: Record, event: StepCompleted) -> None:
        large = (
            value.get("size", 0) for value in event.writes.values() if isinstance(value, Mapping) and "$value" in value
        )
        self._kept_bytes += len(record.data) + sum(size for size in large if isinstance(size, int))

    def _row(self, step: str) -> Row:
        if step not in self._rows:
            self._rows[step] = Row(step, len(self._rows))
        self._changed[step] = None
        return self._rows[step]

    # What a page gets

    def head(self, info: RunInfo) -> dict[str, object]:
        """The facts of the whole run."""
        status = str(self._head["status"])
        head = {
            **self._head,
            "seq": self.seq,
            "alive": info.alive,
            "duration_ms": round(self._worked.seconds * 1000, 3),
        }
        head["status"] = info.state if status == "running" or info.status == "damaged" else status
        head["last_at"] = self._last
        head["kept_bytes"] = self._kept_bytes
        if self._spending.by_step:
            head.update(tokens=self._spending.total.tokens, cost=self._spending.total.cost)
        if self.is_damaged:
            head["damaged"] = f"the journal of run `{self.run_id}` cannot be read to its end"
        return head

    def rows(self, info: RunInfo) -> list[dict[str, object]]:
        """All steps, in the order in which they first began."""
        self._changed.clear()
        self._shown_as = {row.step: self._status(row, info) for row in self._rows.values()}
        return [row.as_data(self._shown_as[row.step]) for row in self._rows.values() if not self._is_mere_copy(row)]

    def told(self) -> dict[str, object]:
        """How the run and its steps stood when they were last given, as a trace tells it."""
        steps = [
            {
                "step": row.step,
                "status": self._shown_as.get(row.step, row.status),
                "action": row.action,
                "source": row.source,
            }
            for row in self._rows.values()
            if not self._is_mere_copy(row)
        ]
        return {"status": self._head["status"], "steps": steps}

    def forget_changes(self) -> None:
        """Take all that has ended as given already."""
        self._changed.clear()
        self._shown_as.clear()

    def changed(self, info: RunInfo) -> list[dict[str, object]]:
        """The steps that are other than when they were last given, be it that their process is gone."""
        for row in self._rows.values():
            if (row.is_under_way or row.step in self._changed) and self._shown_as.get(row.step) != self._status(
                row, info
            ):
                self._changed[row.step] = None
        rows = [self._rows[step] for step in self._changed]
        self._changed.clear()
        for row in rows:
            self._shown_as[row.step] = self._status(row, info)
        return [row.as_data(self._shown_as[row.step]) for row in rows if not self._is_mere_copy(row)]

    def _status(self, row: Row, info: RunInfo) -> str:
        if not row.is_under_way:
            return row.status
        is_over = self._head["status"] in _OVER
        if self._waits.holds(row.step):
            waits_itself = any(end is None for _, end in row.waits)
            return "interrupted" if is_over else "waiting" if waits_itself or not info.alive else row.status
        if self._head["status"] == "running" and info.alive:
            return row.status
        return "interrupted" if row.repeatable else "in_doubt"

    def _is_mere_copy(self, row: Row) -> bool:
        """Whether a step was copied from another run, and this one neither kept it nor a step that it is inside of."""
        if not row.copied:
            return False
        outer = self._rows.get(top_of(row.step), row)
        return outer is row or outer.source != "reuse"

    def items_of(self, step: str) -> Items | None:
        """What became of the items of a step."""
        row = self._rows.get(step)
        return None if row is None else row.items
