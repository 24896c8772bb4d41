"""The live nodes of a scope, and which of the reached ones may start now: counted as nodes change, never searched."""

from __future__ import annotations

from collections.abc import Iterable

from pflow.engine.plan import Plan


class Frontier:
    """Nodes that were reached (`waiting`) and nodes whose step goes on (`running`): together the live ones.

    A node is open while it may still run: it is live, or an open node leads to it over an edge that closes no loop.
    For each node the open ones that lead to it are counted, so that one change costs only the nodes that it opens or
    closes. Changes are noted, and counted when somebody must know: a sequence never needs it.
    """

    def __init__(self, plan: Plan, starts: Iterable[int]) -> None:
        self.waiting: dict[int, None] = dict.fromkeys(starts)
        self.running: dict[int, str] = {}
        self._plan = plan
        self._changed = set(self.waiting)
        self._live: set[int] = set()
        self._free: set[int] = set()
        self._leading: list[int] = []

    def reach(self, nodes: Iterable[int]) -> None:
        """An edge led to these nodes."""
        for node in nodes:
            self.waiting[node] = None
            self._changed.add(node)

    def start(self, node: int, step: str) -> None:
        """A node's step began."""
        self.waiting.pop(node, None)
        self._free.discard(node)
        self.running[node] = step
        self._changed.add(node)

    def end(self, node: int) -> None:
        """A node's step is over."""
        self.running.pop(node, None)
        self._changed.add(node)

    def ready(self) -> list[int]:
        """Reached nodes that no other live node can still reach, in document order."""
        waiting, running = self.waiting, self.running
        if len(waiting) == 1 and not running:
            return list(waiting)
        if not waiting:
            return []
        self._count()
        self._free = set(self._free)  # a set that was large once stays slow to go through
        return sorted(node for node in self._free if node not in running)

    def _count(self) -> None:
        """Take the changes into account. What became live comes first, since it may keep open what the rest closes."""
        leading = self._leading = self._leading or [0] * len(self._plan.nodes)
        waiting, running, live = self.waiting, self.running, self._live
        changed, self._changed = self._changed, set()
        for node in changed:
            if node not in live and (node in waiting or node in running):
                if not leading[node]:
                    self._open(node)
                live.add(node)
        for node in changed:
            if node in live and node not in waiting and node not in running:
                live.discard(node)
                if not leading[node]:
                    self._close(node)
        self._free.update(node for node in changed if node in waiting and not leading[node])

    def _open(self, first: int) -> None:
        ahead, leading = self._plan.ahead, self._leading
        opened = [first]
        while opened:
            for node in ahead[opened.pop()]:
                leading[node] += 1
                if leading[node] == 1:
                    self._free.discard(node)
                    if node not in self._live:
                        opened.append(node)

    def _close(self, first: int) -> None:
        ahead, leading = self._plan.ahead, self._leading
        closed = [first]
        while closed:
            for node in ahead[closed.pop()]:
                leading[node] -= 1
                if leading[node]:
                    continue
                if node not in self._live:
                    closed.append(node)
                elif node in self.waiting:
                    self._free.add(node)
