"""The waits of a run as its trace tells them: what each step asked or waited for, and how that ended."""

from __future__ import annotations

from collections.abc import Iterator

from pflow.core.event import Event, RunResumed, StepAnswered, StepAsked
from pflow.engine.history import Place

_Entry = dict[str, object]


class WaitTrace:
    """Folds the waits of a run; those that nobody has ended yet are open."""

    def __init__(self) -> None:
        self._by_step: dict[str, list[_Entry]] = {}
        self._open: dict[Place, _Entry] = {}

    def note(self, event: Event) -> None:
        """Take one event of the run into account."""
        if isinstance(event, StepAsked):
            self._drop((event.step, event.item))  # another question in its place
            entry = _asked(event)
            self._open[event.step, event.item] = entry
            self._by_step.setdefault(event.step, []).append(entry)
        elif isinstance(event, StepAnswered):
            entry = self._open.pop((event.step, event.item), {})
            entry.update(_answered(event))
        elif isinstance(event, RunResumed) and event.document is not None:
            for place in list(self._open):
                self._drop(place)

    def holds(self, step: str) -> bool:
        """Whether a step waits, itself or something in it."""
        return any(step == asked or step in _above(asked) for asked, _ in self._open)

    def add_to(self, steps: dict[str, _Entry], *, alive: bool, over: bool) -> None:
        """Tell the steps of a trace what they wait or waited for.

        A step that waits has the status `waiting`. So has one in which something waits, unless a process is `alive`
        that may work on the rest of it. In a run that is `over` nothing waits any more.
        """
        begins = "running" if alive else "interrupted"  # one that is approved begins after that
        for step, waits in self._by_step.items():
            if waits:
                steps.setdefault(step, {"step": step, "node": _node_of(step), "status": begins})["waits"] = waits
        status = "interrupted" if over else "waiting"
        for step, item in self._open:
            names = [step] if alive and item is None else [] if alive else [step, *_above(step)]
            for name in names:
                if name in steps:
                    steps[name]["status"] = status
            if item is not None and not over:
                _count(steps[step], "items_waiting")

    def _drop(self, place: Place) -> None:
        entry = self._open.pop(place, None)
        if entry is not None:
            self._by_step[place[0]].remove(entry)


def _asked(event: StepAsked) -> _Entry:
    entry: _Entry = {} if event.item is None else {"item": event.item}
    entry.update(kind=event.kind, at=event.at)
    facts = {"prompt": event.prompt, "show": event.show, "choices": event.form.get("choices")}
    entry.update({name: value for name, value in facts.items() if value})
    if event.form.get("approve") is True:
        entry["approves"] = True
    if event.deadline is not None:
        entry["deadline"] = event.deadline
    return entry


def _answered(event: StepAnswered) -> _Entry:
    facts = {"choice": event.answer.get("choice"), "by": event.by, "via": event.via}
    entry: _Entry = {"outcome": event.outcome, "answered_at": event.at, "waited": event.waited}
    return entry | {name: value for name, value in facts.items() if value}


def _above(step: str) -> Iterator[str]:
    """The steps that a step is inside of: of `a/b[3]/c` those are `a/b` and `a`."""
    while "/" in step:
        step = step.rpartition("/")[0]
        if step.endswith("]"):
            step = step.rpartition("[")[0]
        yield step


def _node_of(step: str) -> str:
    return step.rpartition("/")[2].partition("#")[0]


def _count(entry: _Entry, name: str) -> None:
    before = entry.get(name)
    entry[name] = before + 1 if isinstance(before, int) else 1
