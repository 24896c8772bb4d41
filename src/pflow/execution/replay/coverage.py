"""Which nodes and edges of a workflow its tests went through. Those of sub-workflows are for their own tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pflow.core.frozen import Frozen
from pflow.engine.plan import Plan, PlanNode
from pflow.execution.replay.step import PlayedStep


class Edge(Frozen):
    """A way from one node to another: `label` is its action or condition, "" for the usual one."""

    source: str
    target: str
    label: str = ""

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}" + (f" ({self.label})" if self.label else "")


class Coverage(Frozen):
    """The nodes and edges that there are, and which of them were not reached."""

    nodes: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()
    missed_nodes: tuple[str, ...] = ()
    missed_edges: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        """How much of all nodes and edges was reached."""
        count = len(self.nodes) + len(self.edges)
        return 100.0 * (1 - (len(self.missed_nodes) + len(self.missed_edges)) / count) if count else 100.0


def edges_of(plan: Plan) -> Iterator[tuple[str, str, Edge]]:
    """Every edge with the node and the action that it is taken by."""
    for node in plan.nodes:
        source = node.id.partition("?")[0]
        for action, targets in node.edges.items():
            for target in targets:
                if plan.nodes[target].choice is None:
                    yield node.id, action, Edge(source=source, target=plan.nodes[target].id, label=_label(node, action))


def _label(node: PlanNode, action: str) -> str:
    if node.choice is not None:
        before = node.id.partition("?")[2]
        return ", ".join(filter(None, (before, node.labels.get(action, action))))
    return "" if action == "default" else action


class Reached:
    """What tests of one workflow have reached so far."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        self._ways: set[tuple[str, str]] = set()

    def add(self, steps: Iterable[PlayedStep]) -> None:
        """Count what a run went through."""
        for step in steps:
            if "/" not in step.path and step.reached:
                self._nodes.add(step.path)
            if "/" not in step.path and step.ended:
                self._ways.add((step.path, step.ended))

    def coverage(self, plan: Plan) -> Coverage:
        """How much of a plan that is."""
        nodes = [node.id for node in plan.drawn.nodes]
        edges = list(edges_of(plan))
        return Coverage(
            nodes=tuple(nodes),
            edges=tuple(str(edge) for _, _, edge in edges),
            missed_nodes=tuple(name for name in nodes if name not in self._nodes),
            missed_edges=tuple(str(edge) for node, action, edge in edges if (node, action) not in self._ways),
        )

    def takes(self, plan: Plan, source: str, target: str) -> bool:
        """Whether an edge between two nodes was taken."""
        return any(
            (edge.source, edge.target) == (source, target) and (node, action) in self._ways
            for node, action, edge in edges_of(plan)
        )
