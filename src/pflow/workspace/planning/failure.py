"""What a model is told of a failed run: the error without the values that the run had, and shapes of its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import orjson

from pflow.core.json_type import JsonView, objects_in
from pflow.core.printable import cut
from pflow.execution.outcome import shape_of
from pflow.planning.writing.writer import Failure

_SHORTEST_VALUE = 4
"""Characters of a value that is taken out of messages; shorter ones are words of the message itself."""

_MOST_VALUES = 5_000
_MESSAGE_CHARACTERS = 1_000
_TOLD = ("type", "message", "action")
_HIDDEN = "‹value›"


def failure_of(trace: JsonView) -> Failure:
    """The failure that a trace tells of, as far as a model needs it."""
    error = trace.get("error")
    facts: JsonView = error if isinstance(error, Mapping) else {}
    steps = objects_in(trace.get("steps"))
    failed = str(facts.get("node") or "")
    values = _values([trace.get("inputs"), *_data(steps)])
    lines = [
        f"{name}: {hide_values(cut(str(facts[name]), _MESSAGE_CHARACTERS), values)}" for name in _TOLD if name in facts
    ]
    hints = facts.get("suggestions")
    lines += [f"hint: {hide_values(str(hint), values)}" for hint in hints] if isinstance(hints, list) else []
    return Failure(step=failed, error="\n".join(lines), shapes=_shapes(trace, steps, facts))


def hide_values(text: str, values: Sequence[str]) -> str:
    """A message without any of these values."""
    for value in values:
        text = text.replace(value, _HIDDEN)
    return text


def _shapes(trace: JsonView, steps: Sequence[JsonView], error: JsonView) -> str:
    shown: dict[str, object] = {"inputs": shape_of(trace.get("inputs") or {})}
    for step in steps:
        parts = {name: shape_of(step[name]) for name in ("outputs", "params") if name in step}
        shown[f"step {step.get('step')}"] = {"status": step.get("status"), **parts}
    shown["error details"] = shape_of(error.get("details") or {})
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()


def _data(steps: Iterable[JsonView]) -> Iterator[object]:
    """What steps gave and were given. The text of params is that of the document; what templates put there is not."""
    for step in steps:
        yield step.get("outputs")
        params = step.get("params")
        yield params.get("values", params) if isinstance(params, Mapping) else params


def _values(data: Iterable[object]) -> list[str]:
    """The texts and numbers in data, the longest first, so that no part of one is left."""
    found: dict[str, None] = {}
    for leaf in _leaves(list(data)):
        for part in (leaf, *leaf.splitlines()):
            if len(part.strip()) >= _SHORTEST_VALUE:
                found[part.strip()] = None
        if len(found) >= _MOST_VALUES:
            break
    return sorted(found, key=len, reverse=True)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
