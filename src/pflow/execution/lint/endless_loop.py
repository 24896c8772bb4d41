"""Notices loops that nothing leads out of: only the limit on visits ends them, and it fails the run."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.execution.absence.flow import exits_of
from pflow.execution.node_check import CheckedNode, Report


def lint_loops(nodes: Sequence[CheckedNode], after: Sequence[int], report: Report) -> None:
    """Report each loop without a way out, at its first node."""
    loops: dict[int, list[CheckedNode]] = {}
    for node in nodes:
        if after[node.index] >> node.index & 1:
            loops.setdefault(after[node.index], []).append(node)  # what goes round together leads to the same nodes
    for loop in loops.values():
        inside = {node.index for node in loop}
        if all(inside & set(way.targets) for node in loop for way in exits_of(node)):
            names = ", ".join(f"`{node.spec.id}`" for node in loop[:5]) + (", …" if len(loop) > 5 else "")
            report(
                "endless-loop",
                f"nothing leads out of the loop of {names}; `max_visits` ends it, and fails the run",
                ("nodes", loop[0].index),
                hint="leave the loop by a `switch`, an edge with `when`, or an edge for `error`",
                severity="notice",
                newer=True,
            )
