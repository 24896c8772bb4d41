"""What the steps of a run gave, as a fold of its events: for expectations, coverage, and finding what differs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import orjson

from pflow.core.event import Event, ItemCompleted, ItemFailed, ItemStarted, StepCompleted, StepFailed, StepStarted
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.setting.redactor import Redactor
from pflow.engine.value import ITEMS
from pflow.execution.replay.rule import path_of, plain

_DIGEST_CHARACTERS = 16


class PlayedStep(Frozen):
    """One step. `count` is how often it ran: once, or for each item of a batch. One that was skipped was not reached.

    `ended` is the action that picked its edge; "" while it has none.
    """

    step: str
    reached: bool = True
    count: int = 1
    ended: str = ""
    outputs: Mapping[str, object] = {}
    error: JsonView | None = None

    @property
    def path(self) -> str:
        """The nodes that lead to it."""
        return path_of(self.step)


class Played:
    """The steps of a run in the order in which they began, and what each of them and their items gave."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.steps: dict[str, PlayedStep] = {}
        self.gave: dict[str, JsonView] = {}
        self._items: dict[str, dict[int, JsonView]] = {}
        for event in events:
            self._note(event)

    def _note(self, event: Event) -> None:
        if isinstance(event, StepStarted):
            self.steps[event.step] = PlayedStep(step=event.step)
            if event.items or event.step in self._items:
                self._change(event.step, count=0)
        elif isinstance(event, ItemStarted) and event.attempt == 1:
            self._items.setdefault(event.step, {})[event.item] = {}
            self._change(event.step, count=len(self._items[event.step]))
        elif isinstance(event, ItemCompleted):
            self._items.setdefault(event.step, {})[event.item] = event.writes
            self.gave[f"{event.step}[{event.item}]"] = event.writes
        elif isinstance(event, ItemFailed) and event.final:
            self.gave[f"{event.step}[{event.item}]"] = {"error": told_error(event.error)}
        elif isinstance(event, StepCompleted):
            self._complete(event)
        elif isinstance(event, StepFailed) and event.retry_in is None:
            self._change(event.step, ended=event.action or "", error=event.error)
            self.gave[event.step] = {"error": told_error(event.error)}

    def _complete(self, event: StepCompleted) -> None:
        writes = event.writes
        if writes.get("results") is ITEMS:
            items = self._items.get(event.step, {})
            count = writes.get("count")
            whole = [items.get(index) for index in range(count if isinstance(count, int) else 0)]
            writes = {**writes, "results": whole}
        if event.step not in self.steps or event.source == "skipped":
            self.steps[event.step] = PlayedStep(step=event.step, reached=event.source != "skipped")
        self._change(event.step, ended=event.action, outputs=writes)
        if event.step not in self._items and event.source != "skipped":
            self.gave[event.step] = writes

    def _change(self, step: str, **changes: object) -> None:
        self.steps[step] = self.steps[step]._replace(**changes)

    def digests(self, redactor: Redactor) -> dict[str, dict[str, str]]:
        """A hash of everything that each step and item gave, by output; steps that only decide are left out."""
        return {
            step: {name: digest(plain(redactor.value(value))) for name, value in sorted(gave.items())}
            for step, gave in sorted(self.gave.items())
            if "?" not in step
        }


def digest(value: object) -> str:
    """A short hash of a JSON value."""
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_DIGEST_CHARACTERS]


def told_error(error: Mapping[str, object]) -> JsonView:
    """What of an error is the same whenever it happens."""
    return {name: error[name] for name in ("type", "message", "action") if name in error}
