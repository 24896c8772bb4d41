"""The condition that what a step gave has to meet, or else it is tried again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from pflow.core.errors import NotYetError
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.engine.name_lookup import Item, Names, StepLookup

if TYPE_CHECKING:
    from pflow.core.template.compiled import Reference
    from pflow.engine.plan import PlanNode

_MOST_SHOWN = 3
_MOST_CHARACTERS = 80


def check_until(
    names: Names, node: PlanNode, visit: int, attempt: int, writes: Mapping[str, object], item: Item | None = None
) -> None:
    """Raise `NotYetError` if the condition is not met, in which the name of the node means what this attempt wrote."""
    if node.until is None:
        return
    lookup = StepLookup(names, node.number, visit, {**(item or {}), **names.after(node.number, visit, writes)})
    if node.until.render(lookup):
        return
    reason = _reason(lookup.seen)
    assert node.retry is not None
    tried = "1 attempt" if attempt == 1 else f"{attempt} attempts"
    said = f"; at the last, {reason}" if reason else ""
    raise NotYetError(
        f"`{node.retry.until}` does not hold after {tried}{said}",
        reason=reason,
        suggestions=["raise `attempts` or `wait` of its `retry`, or give it an edge for `timeout`"],
    )


def _reason(seen: Sequence[tuple[Reference, object]]) -> str:
    """What a condition read."""
    shown = [f"`{reference.text}` was {_shown(reference, value)}" for reference, value in seen[:_MOST_SHOWN]]
    return ", ".join([*shown, "…"] if len(seen) > _MOST_SHOWN else shown)


def _shown(reference: Reference, value: object) -> str:
    if value == reference.default:
        return "not there"
    try:
        return shorten(orjson.dumps(value).decode(), _MOST_CHARACTERS)
    except TypeError:
        return describe(value)
