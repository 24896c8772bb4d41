"""Which value to change to see what depends on it, and which steps must then ask for something else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pflow.core.frozen import Frozen
from pflow.core.json_type import Json
from pflow.planning.learning.learned import LearnedStep

_ENDING = "-changed"


class Mutation(Frozen):
    """The outputs of `step` with one value changed; `dependent` are the steps that take it."""

    step: str
    name: str
    outputs: Json
    dependent: tuple[str, ...]


def find_mutation(steps: Sequence[LearnedStep]) -> Mutation | None:
    """A change of one element of the first array that a batch goes through; else of the first value that is taken."""
    by_id = {step.id: step for step in steps}
    loops = [bound for step in steps for bound in step.bounds if len(bound.values) > 1]
    singles = [bound for step in steps for bound in step.bounds if len(bound.values) == 1]
    for bound in (*loops, *singles):
        origin = by_id.get(bound.origin)
        if origin is None or len(origin.acts) != 1 or not bound.values[0]:
            continue
        value = bound.values[0]
        outputs = _changed(origin.acts[0].outputs, value)
        if outputs == origin.acts[0].outputs or not isinstance(outputs, dict):
            continue
        name = f"`{value[:60]}` of step `{origin.id}`"
        return Mutation(step=origin.id, name=name, outputs=outputs, dependent=_dependent(steps, origin.id, value))
    return None


def _dependent(steps: Sequence[LearnedStep], origin: str, value: str) -> tuple[str, ...]:
    found: set[str] = set()
    for step in steps:
        if origin in step.shows:
            found.add(step.id)
        for bound in step.bounds:
            if bound.origin == origin:
                turns = [index for index, own in enumerate(bound.values) if value in own]
                found |= {f"{step.id}[{index}]" if len(bound.values) > 1 else step.id for index in turns}
    return tuple(sorted(found))


def _changed(value: object, old: str) -> object:
    if isinstance(value, str):
        return _mark(value, old)
    if isinstance(value, Mapping):
        return {key: _changed(part, old) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_changed(part, old) for part in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and str(value) == old:
        return int(f"9{value}") if isinstance(value, int) and value >= 0 else value + 1
    return value


def _mark(text: str, old: str) -> str:
    if old.isdigit():
        new = f"9{old}"
    else:
        stem, dot, end = old.rpartition(".")
        new = f"{stem}{_ENDING}{dot}{end}" if dot and stem else f"{old}{_ENDING}"
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)
