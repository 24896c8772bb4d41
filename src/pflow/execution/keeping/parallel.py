"""Which nodes of a document may run at the same time: those in different branches of a fork."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.engine.graph import predecessors, reach_through_loops, without_loops
from pflow.execution.node_check import CheckedNode


class Parallel:
    """The forks of a document: edges of one action, taken together, and several nodes to begin with."""

    def __init__(self, nodes: Sequence[CheckedNode], starts: Sequence[int]) -> None:
        ahead = without_loops([node.targets() for node in nodes], starts)
        self._after = reach_through_loops(ahead)
        self._before = reach_through_loops(predecessors(ahead))
        groups = [starts, *(group for node in nodes for group in _together(node))]
        self._forks = [group for group in groups if len(group) > 1]

    def first_beside(self, node: int, others: int) -> int | None:
        """The first of other nodes, the bits of a mask, that may run at the same time as a node."""
        left = others & ~(self._after[node] | self._before[node] | 1 << node) if self._forks else 0
        while left:
            other = (left & -left).bit_length() - 1
            if any(self._parts(fork, node, other) for fork in self._forks):
                return other
            left &= left - 1
        return None

    def _parts(self, fork: Sequence[int], one: int, other: int) -> bool:
        """Whether a fork leads to both nodes, by different branches."""
        to_one = [branch for branch in fork if self._leads(branch, one)]
        to_other = [branch for branch in fork if self._leads(branch, other)]
        return bool(to_one and to_other) and (len(to_one) > 1 or to_one != to_other)

    def _leads(self, branch: int, node: int) -> bool:
        return branch == node or bool(self._after[branch] >> node & 1)


def _together(node: CheckedNode) -> list[Sequence[int]]:
    """The targets of each action that are all reached; of edges with conditions only one is."""
    return [targets for action, targets in node.edges.items() if action not in node.choices_made]
