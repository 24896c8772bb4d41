"""PocketFlow compositions as plans: `a >> b`, `a - "error" >> c` run by the same executor as documents."""

from __future__ import annotations

from typing import Any

from pocketflow import BaseNode, Flow

from pflow.core.errors import UsageError
from pflow.core.template.compiled import Compiled
from pflow.engine.plan import Plan, PlanNode
from pflow.engine.value import digest


def plan_from_flow(start: Any, *, name: str = "") -> Plan:
    """The plan of a flow, or of everything that can be reached from a node.

    A node's own params win over the flow's. Nodes are named after their classes: `Fetch`, `Fetch-2`.
    """
    params: dict[str, Any] = {}
    if isinstance(start, Flow) and not start.successors:
        params, start = start.params, start.start_node
    if not isinstance(start, BaseNode):
        raise UsageError("a flow needs a start: a PocketFlow node, or a Flow with a start node")
    found: list[Any] = []
    waiting = [start]
    while waiting:
        node = waiting.pop(0)
        if all(node is not known for known in found):
            found.append(node)
            waiting.extend(node.successors.values())
    index = {id(node): position for position, node in enumerate(found)}
    taken: dict[str, int] = {}
    nodes = tuple(_plan_node(node, position, index, params, taken) for position, node in enumerate(found))
    return Plan(nodes=nodes, starts=(0,), name=name or type(start).__name__)


def _plan_node(
    node: Any, position: int, index: dict[int, int], flow_params: dict[str, Any], taken: dict[str, int]
) -> PlanNode:
    kind = type(node)
    taken[kind.__name__] = count = taken.get(kind.__name__, 0) + 1
    name = f"{kind.__module__}.{kind.__qualname__}"
    return PlanNode(
        id=kind.__name__ if count == 1 else f"{kind.__name__}-{count}",
        number=position,
        type=name,
        params=Compiled({**flow_params, **node.params}),
        definition=digest(f"{name}:{count}".encode()),
        node_hash=digest(name.encode()),
        edges={action or "default": (index[id(target)],) for action, target in node.successors.items()},
        make=lambda: node,
        purity="read" if getattr(kind, "purity", "impure") != "impure" else "impure",
    )
