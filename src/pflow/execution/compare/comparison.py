"""Compares two runs: a fold over their traces, in which steps are matched by their path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Literal

from pflow.core.document.difference import Change, compare_documents
from pflow.core.document.parse import parse_value
from pflow.core.frozen import Frozen
from pflow.core.json_type import Json, JsonView, objects_in
from pflow.execution.compare.difference import compare_values
from pflow.execution.outcome import shorten
from pflow.execution.past.whole import Whole

StepClass = Literal["same", "output differs", "only in A", "only in B", "reused"]
"""How a step of one run compares with that of the other. What was `reused` did not run in B."""

MOST_CHANGES = 200
"""How many differences of one value are listed; the others are counted."""

_LONGEST_VALUE = 2_000
"""Bytes of a value that is shown as it is."""

_OPENED_BYTES = 8 << 20
"""Values that are larger than this are different or not; where they differ is not looked for."""

_COMPARED = ("status", "action", "outputs", "error", "state")


class Told(Frozen):
    """A run to be compared: its trace, its document as it was recorded, and how to read values in full."""

    trace: JsonView
    document: object
    whole: Whole


class Differences(Frozen):
    """Where two values differ: the first of it, and how much there is beyond that."""

    changes: tuple[Change, ...] = ()
    more: int = 0

    def __bool__(self) -> bool:
        return bool(self.changes)

    def to_json(self) -> list[object]:
        """The changes as JSON; large values in short."""
        return [_show(change) for change in self.changes]


NONE = Differences()


class ComparedStep(Frozen):
    """A step of two runs; `a` and `b` are what the traces tell of it, and empty where a run did not come to it."""

    step: str
    outcome: StepClass
    a: Mapping[str, object] = {}
    b: Mapping[str, object] = {}
    differences: Differences = NONE

    @property
    def delta_ms(self) -> float | None:
        """How much longer the step took in B; None unless it ran in both."""
        return _delta(self.a.get("ms"), self.b.get("ms")) if self.outcome != "reused" else None

    def to_json(self) -> Json:
        """The step as JSON, without what it gave."""
        shown: Json = {"step": self.step, "class": self.outcome}
        for side, entry in (("a", self.a), ("b", self.b)):
            if entry:
                shown[side] = {name: entry[name] for name in ("status", "ms", "attempt", "source") if name in entry}
        if self.delta_ms is not None:
            shown["delta_ms"] = self.delta_ms
        if self.differences:
            shown |= {"changes": self.differences.to_json(), "more_changes": self.differences.more}
        return shown


class Comparison(Frozen):
    """How run B differs from run A. Times are told and make no difference."""

    a: JsonView
    b: JsonView
    steps: tuple[ComparedStep, ...]
    inputs: Differences = NONE
    outputs: Differences = NONE
    error: Differences = NONE
    document: Differences = NONE

    @property
    def equal(self) -> bool:
        """Whether both runs had the same document and inputs, and all went the same way."""
        parts = (self.inputs, self.outputs, self.error, self.document)
        steps_agree = all(step.outcome in ("same", "reused") for step in self.steps)
        return self.a.get("status") == self.b.get("status") and steps_agree and not any(parts)

    @property
    def delta_ms(self) -> float | None:
        """How much longer B took; None while one of them has not ended."""
        return _delta(self.a.get("duration_ms"), self.b.get("duration_ms"))

    def to_json(self) -> Json:
        """The comparison as `--json` prints it and as pages show it."""
        parts = {"inputs": self.inputs, "outputs": self.outputs, "error": self.error, "document": self.document}
        return {
            "equal": self.equal,
            "a": dict(self.a),
            "b": dict(self.b),
            "delta_ms": self.delta_ms,
            **{name: part.to_json() for name, part in parts.items()},
            "more_changes": {name: part.more for name, part in parts.items() if part.more},
            "steps": [step.to_json() for step in self.steps],
        }


def compare_runs(a: Told, b: Told) -> Comparison:
    """Everything in which two runs differ."""
    return Comparison(
        a=_about(a.trace),
        b=_about(b.trace),
        steps=tuple(_compare_steps(a, b)),
        inputs=_differ(a, b, {"inputs": a.trace.get("inputs")}, {"inputs": b.trace.get("inputs")}),
        outputs=_differ(a, b, *({"outputs": side.trace.get("outputs", {})} for side in (a, b))),
        error=_differ(a, b, *({"error": side.trace["error"]} if "error" in side.trace else {} for side in (a, b))),
        document=_first(_document_changes(a.document, b.document)),
    )


def _about(trace: JsonView) -> Json:
    names = ("run_id", "workflow", "status", "started_at", "duration_ms", "waited_ms", "forked_from")
    return {name: trace[name] for name in names if name in trace}


def _compare_steps(a: Told, b: Told) -> Iterator[ComparedStep]:
    """The steps in the order of A; those that only B has stand after what they followed there."""
    first, second = _by_path(a.trace), _by_path(b.trace)
    after: dict[str, list[str]] = {}
    known = ""
    for step in second:
        if step in first:
            known = step
        else:
            after.setdefault(known, []).append(step)
    for step in ("", *first):
        if step:
            yield _compare_step(step, first[step], second.get(step), a, b)
        for only in after.get(step, ()):
            yield ComparedStep(step=only, outcome="only in B", b=second[only])


def _compare_step(step: str, first: JsonView, second: JsonView | None, a: Told, b: Told) -> ComparedStep:
    if second is None:
        return ComparedStep(step=step, outcome="only in A", a=first)
    if second.get("source") == "reuse":
        return ComparedStep(step=step, outcome="reused", a=first, b=second)
    one, other = ({name: entry[name] for name in _COMPARED if name in entry} for entry in (first, second))
    found = _differ(a, b, one, other, first, second)
    return ComparedStep(step=step, outcome="output differs" if found else "same", a=first, b=second, differences=found)


def _by_path(trace: JsonView) -> dict[str, JsonView]:
    return {str(entry.get("step")): entry for entry in objects_in(trace.get("steps"))}


def _differ(
    a: Told, b: Told, before: JsonView, after: JsonView, first: JsonView | None = None, second: JsonView | None = None
) -> Differences:
    """The differences of two parts of traces; values that stand there by reference are read where they may differ."""
    return _first(compare_values((), *_opened(a, b, before, after, first, second)))


def _opened(
    a: Told, b: Told, before: object, after: object, first: JsonView | None, second: JsonView | None
) -> tuple[object, object]:
    """Both values, with the large ones in them opened wherever they are not the same."""
    if _is_mark(before) or _is_mark(after):
        if before == after and not _is_items(before):
            return before, after
        if _is_large(before) or _is_large(after):
            return before, after
        opened, other = a.whole(before, first), b.whole(after, second)
        if opened is before and other is after:
            return before, after  # nothing more is known of it
        return _opened(a, b, opened, other, first, second)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        pairs = {name: _opened(a, b, before[name], after[name], first, second) for name in before if name in after}
        return {**before, **{name: pair[0] for name, pair in pairs.items()}}, {
            **after,
            **{name: pair[1] for name, pair in pairs.items()},
        }
    if isinstance(before, list) and isinstance(after, list):
        shared = [_opened(a, b, one, other, first, second) for one, other in zip(before, after, strict=False)]
        return (
            [*(pair[0] for pair in shared), *before[len(shared) :]],
            [*(pair[1] for pair in shared), *after[len(shared) :]],
        )
    return before, after


def _is_mark(value: object) -> bool:
    return isinstance(value, Mapping) and (isinstance(value.get("$value"), str) or _is_items(value))


def _is_items(value: object) -> bool:
    return isinstance(value, Mapping) and set(value) == {"$items"}


def _is_large(value: object) -> bool:
    size = value.get("size") if isinstance(value, Mapping) else 0
    return isinstance(size, int) and size > _OPENED_BYTES


def _document_changes(before: object, after: object) -> Iterator[Change]:
    """How two recorded documents differ in meaning, and the workflows inside of them in any way."""
    if before == after:
        return
    one, other = _object(before), _object(after)
    first, second = (parse_value(side["document"]).document if "document" in side else None for side in (one, other))
    if first is not None and second is not None:
        yield from compare_documents(first, second)
    else:
        yield from compare_values((), one.get("document"), other.get("document"))
    yield from compare_values(("children",), _object(one.get("children")), _object(other.get("children")))


def _object(value: object) -> JsonView:
    return value if isinstance(value, Mapping) else {}


def _first(changes: Iterable[Change]) -> Differences:
    rest = iter(changes)
    listed = tuple(islice(rest, MOST_CHANGES))
    return Differences(changes=listed, more=sum(1 for _ in rest))


def _show(change: Change) -> Json:
    shown = change.as_dict()
    for name in ("before", "after"):
        if name in shown:
            shown[name] = shorten(shown[name], _LONGEST_VALUE, str(shown["path"]))
    return shown


def _delta(before: object, after: object) -> float | None:
    if isinstance(before, float | int) and isinstance(after, float | int):
        return round(after - before, 3)
    return None
