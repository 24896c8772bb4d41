"""Pure questions about a plan's graph: which edges lead back, and what each node can still reach."""

from __future__ import annotations

from collections.abc import Sequence

Successors = Sequence[Sequence[int]]


def back_edges(successors: Successors, starts: Sequence[int]) -> set[tuple[int, int]]:
    """Edges that close a loop, found depth first in document order from the starts."""
    return _walk(successors, starts)[1]


def reach_masks(successors: Successors, starts: Sequence[int]) -> tuple[int, ...]:
    """For each node a bit mask of the nodes it can reach, loops not followed."""
    order, back = _walk(successors, starts)
    masks = [0] * len(successors)
    for node in order:
        for target in successors[node]:
            if (node, target) not in back:
                masks[node] |= masks[target] | (1 << target)
    return tuple(masks)


def reach_through_loops(successors: Successors, starts: Sequence[int]) -> tuple[int, ...]:
    """Like `reach_masks`, with loops followed: everything that can run after each node."""
    order, back = _walk(successors, starts)
    masks = [0] * len(successors)
    changed = True
    while changed:
        changed = False
        for node in order:
            mask = masks[node]
            for target in successors[node]:
                mask |= masks[target] | (1 << target)
            changed |= bool(back) and mask != masks[node]
            masks[node] = mask
    return tuple(masks)


def forward_order(successors: Successors, starts: Sequence[int]) -> list[int]:
    """The nodes, each after all that lead to it, but for those that lead back."""
    return _walk(successors, starts)[0][::-1]


def predecessors(successors: Successors) -> tuple[tuple[int, ...], ...]:
    """The nodes with an edge to each node, in document order."""
    found: list[list[int]] = [[] for _ in successors]
    for node, targets in enumerate(successors):
        for target in dict.fromkeys(targets):
            found[target].append(node)
    return tuple(tuple(nodes) for nodes in found)


def _walk(successors: Successors, starts: Sequence[int]) -> tuple[list[int], set[tuple[int, int]]]:
    """The nodes, each after all that it leads to, and the edges that close a loop and so are left out of that order."""
    unseen, open_, done = 0, 1, 2
    colour = [unseen] * len(successors)
    order: list[int] = []
    back: set[tuple[int, int]] = set()
    for root in [*starts, *range(len(successors))]:
        if colour[root] != unseen:
            continue
        colour[root] = open_
        stack = [(root, iter(successors[root]))]
        while stack:
            node, targets = stack[-1]
            for target in targets:
                if colour[target] == open_:
                    back.add((node, target))
                elif colour[target] == unseen:
                    colour[target] = open_
                    stack.append((target, iter(successors[target])))
                    break
            else:
                colour[node] = done
                order.append(node)
                stack.pop()
    return order, back
