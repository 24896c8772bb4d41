"""Whether a run that was played is what a test expects, and where it first went another way than the recorded one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from orjson import dumps

from pflow.core.cassette.cassette import Cassette, Recorded
from pflow.core.document.position import show_path
from pflow.core.errors import ExpressionError
from pflow.core.expression.reference import references
from pflow.core.expression.tree import Expression
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.printable import shorten
from pflow.core.suite.match import MISSING, Mismatch, mismatches
from pflow.core.suite.suite import Case, ExpectedStep
from pflow.core.template.computed import truth
from pflow.engine.plan import Plan
from pflow.execution.replay.coverage import Reached
from pflow.execution.replay.player import Unrecorded
from pflow.execution.replay.replay import Replayed
from pflow.execution.replay.rule import plain
from pflow.execution.replay.step import Played, PlayedStep

MOST_FINDINGS = 20
"""Findings of one test that are listed; the first is the one to look at."""

_LONGEST_VALUE = 100
"""Characters of a value that an expression read."""


class Finding(Frozen):
    """Something that is not as expected. `where` is a path such as `outputs.path`; values are None where there is none.

    `has_values` says whether there are an expected and an actual value; `is_missing` names the one that is not there.
    """

    where: str
    message: str = ""
    expected: object = None
    actual: object = None
    has_values: bool = False
    is_missing: str = ""


class Cause(Frozen):
    """The first step that gave something else than in the recorded run, and all that did, in their order.

    Each is named with the output in which it differs: `show[3].result`.
    """

    first: str = ""
    after: tuple[str, ...] = ()


def judge(case: Case, plan: Plan, replayed: Replayed, played: Played) -> tuple[Finding, ...]:
    """Everything in which a run is not what a test expects; the first findings."""
    return tuple(islice(_findings(case, plan, replayed, played), MOST_FINDINGS))


def _findings(case: Case, plan: Plan, replayed: Replayed, played: Played) -> Iterator[Finding]:
    for missed in replayed.unrecorded:
        yield Finding(where=missed.step, message=_unrecorded(missed))
    if replayed.unrecorded:
        return
    expected = case.expected
    outputs: JsonView = plain(dict(replayed.outputs))
    if replayed.status != expected.status:
        why = "" if replayed.error is None else str(replayed.error.get("message", ""))
        node = "" if replayed.error is None else str(replayed.error.get("node") or "")
        told = f"the run {replayed.status}" + (f" at `{node}`" if node else "") + (f": {why}" if why else "")
        yield _with_values("status", expected.status, replayed.status, told)
    else:
        for name, value in expected.outputs.items():
            yield from differences("outputs", mismatches(value, outputs.get(name, MISSING), (name,)))
    if expected.error is not None and replayed.error is not None:
        yield from _within("error", expected.error, replayed.error)
    by_path: dict[str, list[PlayedStep]] = {}
    for step in played.steps.values():
        if step.reached:
            by_path.setdefault(step.path, []).append(step)
    for name in expected.reached:
        if name not in by_path:
            yield Finding(where=f"reached.{name}", message=f"`{name}` was not reached")
    for name, wanted in expected.steps.items():
        yield from _step(name, wanted, by_path.get(name, []))
    reached = Reached()
    reached.add(played.steps.values())
    for source, target in expected.edges:
        if not reached.takes(plan, source, target):
            yield Finding(where="edges", message=f"the edge `{source} -> {target}` was not taken")
    for kind, count in expected.calls.items():
        if replayed.kinds.get(kind, 0) != count:
            yield _with_values(f"calls.{kind}", count, replayed.kinds.get(kind, 0))
    names = names_of(replayed, played, outputs)
    for index, expression in enumerate(expected.that):
        try:
            holds = truth(expression, names)
        except ExpressionError as error:
            yield Finding(where=f"that[{index}]", message=error.message)
            continue
        if not holds:
            yield Finding(where=f"that[{index}]", message=_unheld(expression, names))


def names_of(replayed: Replayed, played: Played, outputs: JsonView) -> dict[str, object]:
    """What the expressions of a test can name; a step that ran several times has its last outputs."""
    steps = {
        step.path: plain(dict(step.outputs)) for step in played.steps.values() if step.reached and "?" not in step.path
    }
    return {
        "inputs": dict(replayed.inputs),
        "outputs": outputs,
        "steps": steps,
        "status": replayed.status,
        "calls": dict(replayed.kinds),
        "error": None if replayed.error is None else plain(dict(replayed.error)),
    }


def _unheld(expression: Expression, names: Mapping[str, object]) -> str:
    """That an expression does not hold, with the values that it read."""
    read = {one.text: _at(names, one.keys) for one in references(expression)}
    values = [
        f"`{text}` is {shorten(dumps(value, default=str).decode(), _LONGEST_VALUE)}" for text, value in read.items()
    ]
    return f"`{expression.text}` does not hold" + (f": {', '.join(values)}" if values else "")


def _at(value: object, keys: Sequence[str | int]) -> object:
    for key in keys:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list | tuple) and isinstance(key, int):
            value = value[key] if key < len(value) else None
        else:
            return None
    return value


def _step(name: str, wanted: ExpectedStep, steps: list[PlayedStep]) -> Iterator[Finding]:
    where = f"steps.{name}"
    if not wanted.reached:
        if steps:
            yield Finding(where=where, message=f"`{name}` was reached")
        return
    if not steps:
        yield Finding(where=where, message=f"`{name}` was not reached")
        return
    count = sum(step.count for step in steps)
    if wanted.count is not None and count != wanted.count:
        yield _with_values(f"{where}.count", wanted.count, count)
    last = steps[-1]
    if wanted.action is not None and last.ended != wanted.action:
        yield _with_values(f"{where}.action", wanted.action, last.ended or "none")
    for output, value in (wanted.outputs or {}).items():
        given = plain(dict(last.outputs))
        yield from differences(f"{where}.outputs", mismatches(value, given.get(output, MISSING), (output,)))
    if wanted.error is not None and last.error is None:
        yield Finding(where=f"{where}.error", message=f"`{name}` did not fail")
    elif wanted.error is not None:
        yield from _within(f"{where}.error", wanted.error, last.error or {})


def _within(where: str, expected: JsonView, actual: JsonView) -> Iterator[Finding]:
    """The differences in those fields that are expected."""
    given = plain(dict(actual))
    for name, value in expected.items():
        yield from differences(where, mismatches(value, given.get(name, MISSING), (name,)))


def differences(where: str, found: Iterator[Mismatch]) -> Iterator[Finding]:
    """Mismatches of a value that stands at a path."""
    for one in found:
        missing = "expected" if one.expected is MISSING else "actual" if one.actual is MISSING else ""
        path = show_path(one.path)
        yield Finding(
            where=f"{where}{path if path.startswith('[') else f'.{path}'}",
            message=one.why,
            expected=None if missing == "expected" else one.expected,
            actual=None if missing == "actual" else one.actual,
            has_values=True,
            is_missing=missing,
        )


def _with_values(where: str, expected: object, actual: object, message: str = "") -> Finding:
    return Finding(where=where, message=message, expected=expected, actual=actual, has_values=True)


def _unrecorded(missed: Unrecorded) -> str:
    if missed.recorded:
        times = "once" if missed.recorded == 1 else f"{missed.recorded} times"
        return f"`{missed.step}` ({missed.type}) makes a call again that was recorded {times} only"
    return f"`{missed.step}` ({missed.type}) makes a call that was not recorded"


def params_difference(missed: Unrecorded) -> Iterator[Finding]:
    """In which params a call differs from the nearest one that was recorded."""
    near: Recorded | None = missed.nearest
    if near is not None:
        yield from differences("params", mismatches(dict(near.params), dict(missed.params)))


def find_cause(cassette: Cassette, played: Played, digests: Mapping[str, Mapping[str, str]]) -> Cause:
    """Which steps gave something else than in the recorded run: the first of them, and those after it."""
    found: list[str] = []
    for step in played.gave:
        before, now = cassette.gave.get(step), digests.get(step)
        if before is not None and now is not None and before != now:
            parts = [name for name in {**before, **now} if before.get(name) != now.get(name)]
            found.append(f"{step}.{parts[0]}")
    return Cause(first=found[0], after=tuple(found[1:])) if found else Cause()
