"""Which nodes are sure to have given something by the time that another one starts, whichever way a run takes.

All nodes are followed at once: a bit of a mask stands for a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pflow.core.frozen import Frozen
from pflow.engine.graph import forward_order, reach_through_loops, without_loops
from pflow.execution.node_check import CheckedNode

Ending = Literal["given", "failed", "skipped"]
"""How a visit of a node ends: with its outputs, with a handled error, or without anything."""

Endings = frozenset[Ending]

GIVEN: Endings = frozenset(("given",))
FAILED: Endings = frozenset(("failed",))
ANYTHING: Endings = frozenset(("given", "failed"))
UNLESS_FAILED: Endings = frozenset(("given", "skipped"))
VISITED: Endings = frozenset(("given", "failed", "skipped"))


class Exit(Frozen):
    """One way out of a node: how it ended, and all the nodes that are reached then.

    `place` is that of the condition which led there, among those on the edges for the action.
    """

    action: str
    ending: Ending
    targets: tuple[int, ...] = ()
    place: int | None = None


def exits_of(node: CheckedNode) -> list[Exit]:
    """Every way out of a node that lets the run go on or end well."""
    found: list[Exit] = []
    edges = dict(node.edges)
    if not node.is_closed or (not edges and node.choices):
        edges.setdefault("default", ())
    for action, targets in edges.items():
        ending: Ending = "failed" if node.fails_with(action) else "given"
        found += _ways(node, action, ending, targets)
    if node.when is not None:
        found += _ways(node, "default", "skipped", edges.get("default", ()))
    return found


def _ways(node: CheckedNode, action: str, ending: Ending, targets: tuple[int, ...]) -> list[Exit]:
    if action not in node.choices_made:
        return [Exit(action=action, ending=ending, targets=targets)]
    return [
        Exit(action=action, ending=ending, targets=() if way.target is None else (way.target,), place=place)
        for place, way in enumerate(node.choices_made[action])
    ]


class Flow:
    """The ways through a document. `after` has a mask for each node of all that can run after it.

    `sections` are the nodes with which parts begin that no edge leads to.
    """

    def __init__(
        self, nodes: Sequence[CheckedNode], starts: Sequence[int], after: Sequence[int], sections: Sequence[int] = ()
    ) -> None:
        self._after = after
        self.exits = [exits_of(node) for node in nodes]
        self._starts = starts
        self._sections = sections
        self._all = (1 << len(nodes)) - 1
        self._successors = [node.targets() for node in nodes]
        self._order = forward_order(self._successors, starts)
        self._reach = reach_through_loops(without_loops(self._successors, starts))
        self._sure: dict[Endings, list[int]] = {}
        branches = any(len(way.targets) > 1 for ways in self.exits for way in ways)
        self._is_parallel = branches or len(starts) > 1

    def is_sure(self, given: int, reader: int, endings: Endings = GIVEN) -> bool:
        """Whether a node's last visit before another one starts has ended so, and there was one."""
        if endings not in self._sure:
            self._sure[endings] = self._follow(endings)
        return bool(self._sure[endings][reader] >> given & self._reach[given] >> reader & 1)

    def repeats(self, number: int) -> bool:
        """Whether a node is part of a loop."""
        return bool(self._after[number] >> number & 1)

    def leads(self, number: int, target: int) -> bool:
        """Whether a node can have run before another one."""
        return bool(self._after[number] >> target & 1)

    def carry(self, added: Mapping[tuple[int, int], int]) -> list[int]:
        """For each node a mask of what was added on every way to it. `added` has a mask for each exit of each node."""
        carried = [-1] * len(self.exits)
        for start in (*self._starts, *self._sections):
            carried[start] = 0
        changed = True
        while changed:
            before = list(carried)
            for number in self._order:
                for place, way in enumerate(self.exits[number]):
                    for target in way.targets:
                        carried[target] &= carried[number] | added[number, place]
            changed = carried != before
        return carried

    def can_be_missed(self, endings: Endings) -> int:
        """The nodes that need not have ended so when a run is completed."""
        free = self._avoid(endings, waits=False)
        missed = self._all
        for start in self._starts:
            missed &= free[start]
        return missed

    def _follow(self, endings: Endings) -> list[int]:
        """For each node a mask of those that have ended so before it, or will before anything that they lead to.

        A node waits for all that run and lead to it, so what is promised beside a way counts as done where it leads.
        """
        promised = [self._all & ~mask for mask in self._avoid(endings, waits=True)] if self._is_parallel else []
        sure = [self._all] * len(self.exits)
        self._enter(sure, self._starts, 0, promised)
        for section in self._sections:
            self._enter(sure, [section], 0, promised)
        changed = True
        while changed:
            before = list(sure)
            for number in self._order:
                for way in self.exits[number]:
                    self._enter(sure, way.targets, _after(sure[number], number, way, endings), promised)
            changed = sure != before
        return sure

    def _enter(self, sure: list[int], targets: Sequence[int], mask: int, promised: Sequence[int]) -> None:
        """Reach nodes at the same time: each of them can count on what the others lead to in any case."""
        if len(targets) < 2:
            for target in targets:
                sure[target] &= mask
            return
        behind = [0]
        for target in reversed(targets):
            behind.append(behind[-1] | promised[target])
        ahead = 0
        for place, target in enumerate(targets, 1):
            sure[target] &= mask | ahead | behind[-1 - place]
            ahead |= promised[target]

    def _avoid(self, endings: Endings, *, waits: bool) -> list[int]:
        """For each node a mask of those that need not end so once it has started.

        The least set: what goes round in a loop for ever does not end. `waits` counts only what other nodes wait for,
        which is what can be reached without going back in a loop.
        """
        free = [self._all & ~(self._reach[number] | 1 << number) if waits else 0 for number in range(len(self.exits))]
        changed = True
        while changed:
            before = list(free)
            for number in reversed(self._order):
                mask = free[number]
                for way in self.exits[number]:
                    rest = self._all
                    for target in way.targets:
                        rest &= free[target]
                    mask |= rest & ~(1 << number) if way.ending in endings else rest
                free[number] = mask
            changed = free != before
        return free


def _after(mask: int, number: int, way: Exit, endings: Endings) -> int:
    if way.ending in endings:
        return mask | 1 << number
    return mask if way.ending == "skipped" else mask & ~(1 << number)
