"""What became of the items of batches, each counted once, however often its batch was taken up."""

from __future__ import annotations

from pflow.core.event import ItemFailed, ItemStarted, StepStarted
from pflow.engine.codec import decode_event, item_of
from pflow.engine.history import same_work
from pflow.engine.ports import Record
from pflow.engine.value import ShownValues

ITEM_KINDS = frozenset(("ItemStarted", "ItemCompleted", "ItemFailed", "ItemNotYet"))


class _Batch:
    __slots__ = ("done", "errors", "failed")

    def __init__(self) -> None:
        self.done: set[int] = set()
        self.failed: set[int] = set()
        self.errors: dict[int, list[object]] = {}


class CountedItems:
    """A fold of the events of items, for a trace: how many are done and failed, and the errors."""

    def __init__(self, shown: ShownValues) -> None:
        self._shown = shown
        self._begun: dict[str, StepStarted] = {}
        self._batches: dict[str, _Batch] = {}
        self._has_errors = False

    def begin(self, event: StepStarted) -> None:
        """A step began; if it is other work than before, so are its items."""
        before = self._begun.get(event.step)
        if before is not None and not same_work(before, event.definition, event.inputs):
            self._batches.pop(event.step, None)
        if event.items:
            self._begun[event.step] = event

    def note(self, record: Record) -> None:
        """Take an event of an item into account; raises `DamagedError`."""
        if record.kind == "ItemCompleted":
            step, item = item_of(record)
            batch = self._of(step)
            batch.done.add(item)
            batch.failed.discard(item)
        elif record.kind == "ItemFailed" or (record.kind == "ItemStarted" and self._has_errors):
            event = decode_event(record, self._shown)
            if isinstance(event, ItemFailed):
                self._fail(event)
            elif isinstance(event, ItemStarted) and event.attempt == 1:
                self._start(event)

    def tell(self, steps: dict[str, dict[str, object]]) -> None:
        """Add what is known to the steps of a trace."""
        for step, batch in self._batches.items():
            entry = steps.setdefault(step, {"step": step})
            if batch.done:
                entry["items_completed"] = len(batch.done)
            if batch.failed:
                entry["items_failed"] = len(batch.failed)
            if batch.errors:
                told = ((index, error) for index, errors in batch.errors.items() for error in errors)
                entry["item_errors"] = [{"index": index, "error": error} for index, error in told]

    def _fail(self, event: ItemFailed) -> None:
        self._has_errors = True
        batch = self._of(event.step)
        batch.errors.setdefault(event.item, []).append(event.error)
        if event.final:
            batch.failed.add(event.item)

    def _start(self, event: ItemStarted) -> None:
        batch = self._of(event.step)
        batch.failed.discard(event.item)
        batch.errors.pop(event.item, None)

    def _of(self, step: str) -> _Batch:
        if step not in self._batches:
            self._batches[step] = _Batch()
        return self._batches[step]
