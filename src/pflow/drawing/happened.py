"""What a run made of a plan: how far each node came and which edges were taken, folded from the run's trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView, objects_in
from pflow.engine.again.name import node_of
from pflow.engine.ending.look import Look, look_of
from pflow.engine.plan import Plan, PlanNode

_LEFT = frozenset({"completed", "skipped", "handled"})
"""How a step is when the edges of its action are taken."""


class Happened(Frozen):
    """The state of each node by its id, and the pairs of nodes, by number, between which a run passed."""

    states: Mapping[str, Look]
    taken: frozenset[tuple[int, int]]


def fold_happened(plan: Plan, trace: JsonView) -> Happened:
    """What the run with this trace did in `plan`, the plan of its document."""
    is_running = trace.get("status") == "running"
    states: dict[str, Look] = {}
    last: dict[str, JsonView] = {}
    left: list[tuple[PlanNode, str]] = []
    for entry in objects_in(trace.get("steps")):
        node = plan.by_id.get(node_of(str(entry.get("step"))) or "")
        if node is None:
            continue  # inside of a sub-workflow, or of a document that was edited since
        last[node.id] = entry
        states[node.id] = _state(entry, is_running=is_running)
        if entry.get("status") in _LEFT:
            left.append((node, str(entry.get("action"))))
    rest: Look = "skipped" if trace.get("status") == "completed" else "pending"
    return Happened(
        states={node.id: states.get(node.id, rest) for node in plan.nodes if node.choice is None},
        taken=frozenset(pair for node, action in left for pair in _passed(plan, node, action, last)),
    )


def happened_data(plan: Plan, trace: JsonView) -> dict[str, object]:
    """What a run made of its graph: the look of each node, and the edges that it took, as pictures name them."""
    happened = fold_happened(plan, trace)
    names = [node.id for node in plan.nodes]
    taken = sorted(f"{names[source]}>{names[target]}" for source, target in happened.taken)
    return {"looks": happened.states, "taken": taken}


def _state(entry: JsonView, *, is_running: bool) -> Look:
    found = look_of(entry.get("status"), entry.get("source"))
    return "pending" if found == "running" and not is_running else found  # the next attempt was to come


def _passed(plan: Plan, node: PlanNode, action: str, last: Mapping[str, JsonView]) -> Iterator[tuple[int, int]]:
    """Where a run went from a node; where conditions decide, it went on behind them."""
    if node.choice is not None:
        return
    for target in node.edges.get(action, ()):
        choice = plan.nodes[target]
        if choice.choice is None:
            ends: tuple[int, ...] = (target,)
        else:
            ends = choice.edges.get(str(last.get(choice.id, {}).get("action")), ())
        yield from ((node.number, end) for end in ends if plan.nodes[end].id in last)
