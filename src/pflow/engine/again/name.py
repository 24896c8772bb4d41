"""The names of steps and items, taken apart, and what the nodes behind them name.

`deploy[3]/fetch#2` is the second visit of `fetch` in the sub-workflow that item 3 of the batch `deploy` runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pflow.core.template.compiled import Reference
from pflow.engine.plan import Plan, PlanNode

_PART = r"([^#\[/]+)(?:#[0-9]+)?(?:\[([0-9]{1,9})\])?"
_STEP = r"([^#\[/]+)(?:#[0-9]{1,9})?"


def top_of(name: str) -> str:
    """The step of the run itself that a step or item is part of: `deploy` for `deploy[3]/fetch`."""
    return name.partition("/")[0].partition("[")[0]


def node_of(step: str) -> str | None:
    """The node of a step of the run itself; None for a name of something else."""
    found = re.fullmatch(_STEP, step)
    return None if found is None else found[1]


def split_item(name: str) -> tuple[str, int | None]:
    """The step and the item that a name means; the item is None for a step."""
    found = re.fullmatch(_PART, name.rpartition("/")[2])
    if found is None or found[2] is None:
        return name, None
    return name.rpartition("[")[0], int(found[2])


def outer_steps(name: str) -> Iterator[tuple[str, int | None]]:
    """The steps that a step is inside of, the nearest first, each with the item that it is in, if it is a batch."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield split_item(name)


def templates_of(node: PlanNode) -> Iterator[Reference]:
    """What the templates of a node name, without its conditions and expressions, which can do without a value."""
    for source in (node.params, node.batch.items if node.batch is not None else None):
        for _, part in source.places() if source is not None else ():
            yield from part.references


def find_node(plan: Plan, name: str) -> tuple[Plan, PlanNode] | None:
    """The node that a step or item is an execution of, with the plan that it belongs to."""
    inner: Plan | None = plan
    found: tuple[Plan, PlanNode] | None = None
    for part in name.split("/"):
        match = re.fullmatch(_PART, part)
        node = inner.by_id.get(match[1]) if match is not None and inner is not None else None
        if inner is None or node is None:
            return None
        found, inner = (inner, node), node.child
    return found
