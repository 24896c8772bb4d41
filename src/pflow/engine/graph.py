"""Pure questions about a plan's graph: which edges lead back, and what each node can still reach."""

from __future__ import annotations

from collections.abc import Sequence

Successors = Sequence[Sequence[int]]


def back_edges(successors: Successors, starts: Sequence[int]) -> set[tuple[int, int]]:
    """Edges that close a loop, found depth first in document order from the starts."""
    unseen, open_, done = 0, 1, 2
    colour = [unseen] * len(successors)
    found: set[tuple[int, int]] = set()
    for root in [*starts, *range(len(successors))]:
        if colour[root] != unseen:
            continue
        colour[root] = open_
        stack = [(root, iter(successors[root]))]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if colour[target] == open_:
                    found.add((node, target))
                elif colour[target] == unseen:
                    colour[target] = open_
                    stack.append((target, iter(successors[target])))
                    break
            else:
                colour[node] = done
                stack.pop()
    return found


def reach_masks(successors: Successors, back: set[tuple[int, int]]) -> tuple[int, ...]:
    """For each node a bit mask of the nodes it can reach, loops not followed."""
    count = len(successors)
    masks = [0] * count
    for node in reversed(_topological(successors, back)):
        mask = 0
        for target in successors[node]:
            if (node, target) not in back:
                mask |= masks[target] | (1 << target)
        masks[node] = mask
    return tuple(masks)


def reach_through_loops(successors: Successors, starts: Sequence[int]) -> tuple[int, ...]:
    """Like `reach_masks`, with loops followed: everything that can run after each node."""
    back = back_edges(successors, starts)
    masks = list(reach_masks(successors, back))
    order = list(reversed(_topological(successors, back))) if back else []
    changed = bool(back)
    while changed:
        changed = False
        for node in order:
            mask = masks[node]
            for target in successors[node]:
                mask |= masks[target] | (1 << target)
            if mask != masks[node]:
                masks[node] = mask
                changed = True
    return tuple(masks)


def predecessors(successors: Successors) -> tuple[tuple[int, ...], ...]:
    """The nodes with an edge to each node, in document order."""
    found: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in dict.fromkeys(targets):
            found[target].append(node)
    return tuple(tuple(nodes) for nodes in found)


def _topological(successors: Successors, back: set[tuple[int, int]]) -> list[int]:
    count = len(successors)
    waiting = [0] * count
    for node, targets in enumerate(successors):
        for target in targets:
            if (node, target) not in back:
                waiting[target] += 1
    order = [node for node in range(count) if not waiting[node]]
    for node in order:
        for target in successors[node]:
            if (node, target) not in back:
                waiting[target] -= 1
                if not waiting[target]:
                    order.append(target)
    return order
