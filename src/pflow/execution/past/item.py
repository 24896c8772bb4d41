"""The items of one batch as a trace tells them: how each stands, what it gave, and its attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.errors import NotFoundError
from pflow.core.event import (
    Event,
    ItemCompleted,
    ItemFailed,
    ItemNotYet,
    ItemStarted,
    RunResumed,
    StepAnswered,
    StepAsked,
    StepStarted,
)
from pflow.core.json_type import Json, JsonView
from pflow.engine.codec import decode_event
from pflow.engine.history import same_work
from pflow.engine.ports import Record
from pflow.engine.value import ShownValues
from pflow.execution.again.item_count import ITEM_KINDS

_KINDS = ITEM_KINDS | {"StepStarted", "RunResumed", "StepAsked", "StepAnswered"}
_SHOWN = ShownValues()


class Times:
    """When an item began, when its last attempt did, and how long it waited for answers."""

    __slots__ = ("begun", "first", "waited")

    def __init__(self, at: float) -> None:
        self.first = self.begun = at
        self.waited = 0.0


class Items:
    """A fold of the events of one batch, item by item; each item counts once, however often it ran."""

    def __init__(self, step: str) -> None:
        self._step = step
        self._begun: StepStarted | None = None
        self._found: dict[int, Json] = {}
        self._times: dict[int, Times] = {}
        self.count = 0

    def note(self, event: Event) -> None:
        """Take an event of the run into account."""
        match event:
            case RunResumed():
                for entry in self._found.values():
                    if entry["status"] == "running":
                        entry["status"] = "in_doubt"
            case StepStarted() if event.step == self._step:
                self._begin(event)
            case ItemStarted() if event.step == self._step:
                self._start(event)
            case ItemCompleted() if event.step == self._step:
                entry = self._entry(event.item)
                entry.pop("error", None)
                entry.update(status="completed", outputs=event.writes)
                if event.state:
                    entry["state"] = event.state
                self._end(event.item, event.at)
                self._try(event.item, event.at, status="completed")
            case ItemFailed() if event.step == self._step:
                entry = self._entry(event.item)
                entry.update(status="failed" if event.final else "retrying", error=event.error)
                self._end(event.item, event.at)
                self._try(event.item, event.at, status="failed", error=event.error)
            case ItemNotYet() if event.step == self._step:
                entry = self._entry(event.item)
                entry.update(status="not_yet", reason=event.reason)
                self._try(event.item, event.at, status="not_yet", reason=event.reason)
            case StepAsked() if event.step == self._step and event.item is not None:
                self._entry(event.item)["status"] = "waiting"
            case StepAnswered() if event.step == self._step and event.item is not None:
                self._entry(event.item)["status"] = "running"
                if event.item in self._times:
                    self._times[event.item].waited += event.waited

    def tell(self, *, step_status: object) -> dict[int, Json]:
        """Each item that began, by its number. What was under way in a step that is not is cut off as the step is."""
        cut_off = step_status if step_status in ("in_doubt", "interrupted") else "interrupted"
        for entry in self._found.values():
            if entry["status"] in ("running", "retrying", "not_yet") and step_status not in ("running", "waiting"):
                entry["status"] = cut_off
            if entry["attempt"] == 1:
                entry.pop("attempts", None)
        return dict(sorted(self._found.items()))

    def _begin(self, event: StepStarted) -> None:
        if self._begun is not None and not same_work(self._begun, event.definition, event.inputs):
            self._found.clear()
        self._begun = event
        self.count = event.items

    def _start(self, event: ItemStarted) -> None:
        entry = self._entry(event.item)
        if event.attempt == 1:
            for name in ("error", "reason", "outputs", "attempts", "started_at", "ms"):
                entry.pop(name, None)
            self._times.pop(event.item, None)
        entry.update(status="running", attempt=event.attempt)
        if event.at:
            entry["started_at"] = event.at
            self._times.setdefault(event.item, Times(event.at)).begun = event.at

    def _entry(self, item: int) -> Json:
        if item not in self._found:
            self._found[item] = {"step": f"{self._step}[{item}]", "item": item, "status": "running", "attempt": 1}
        return self._found[item]

    def _end(self, item: int, at: float) -> None:
        """The time of an item counts from its first attempt on, without that in which it waited for an answer."""
        times = self._times.get(item)
        if times is not None and at:
            self._found[item]["ms"] = _between(times.first + times.waited, at)

    def _try(self, item: int, at: float, **facts: object) -> None:
        entry, times = self._found[item], self._times.get(item)
        before = entry.get("attempts")
        tries = before if isinstance(before, list) else []
        took = {"started_at": times.begun, "ms": _between(times.begun, at)} if times is not None and at else {}
        entry["attempts"] = [*tries, {"attempt": entry["attempt"], **took, **facts}]


def read_items(records: Sequence[Record], entry: JsonView) -> dict[int, Json]:
    """The items of a batch that have begun; `entry` is what the trace tells of its step."""
    return _fold(records, entry).tell(step_status=entry.get("status"))


def find_item(records: Sequence[Record], entry: JsonView, item: int) -> Json:
    """One item of a batch. Raises `NotFoundError`, which says which items there are."""
    items = _fold(records, entry)
    found = items.tell(step_status=entry.get("status"))
    if item in found:
        return found[item]
    step, count = entry.get("step"), items.count
    if not count and not found:
        raise NotFoundError(f"step `{step}` is not a batch and has no item {item}")
    if item < count:
        raise NotFoundError(f"item {item} of `{step}` has not begun", details={"items": f"0 to {count - 1}"})
    raise NotFoundError(f"step `{step}` has no item {item}; its items are 0 to {max(count, len(found)) - 1}")


def item_results(items: Mapping[int, JsonView], count: object) -> list[object]:
    """What the items of a batch gave, in their order; null for those that gave nothing."""
    most = count if isinstance(count, int) else max(items, default=-1) + 1
    return [items.get(index, {}).get("outputs") for index in range(most)]


def _between(begun: float, ended: float) -> float:
    return round(max(ended - begun, 0.0) * 1000, 3)


def _fold(records: Sequence[Record], entry: JsonView) -> Items:
    items = Items(str(entry.get("step")))
    for record in records:
        if record.kind in _KINDS:
            items.note(decode_event(record, _SHOWN))
    return items
