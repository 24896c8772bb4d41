"""Pure questions about a plan's graph: which edges lead back, and what can run after each node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

Successors = Sequence[Sequence[int]]


def back_edges(successors: Successors, starts: Sequence[int]) -> set[tuple[int, int]]:
    """Edges that close a loop, found depth first in document order from the starts."""
    return _walk(successors, starts)[1]


def without_loops(successors: Successors, starts: Sequence[int]) -> tuple[Sequence[int], ...]:
    """The same graph without its back edges."""
    back = back_edges(successors, starts)
    if not back:
        return tuple(successors)
    return tuple(
        tuple(target for target in targets if (node, target) not in back) for node, targets in enumerate(successors)
    )


def reach_through_loops(successors: Successors) -> tuple[int, ...]:
    """For each node a bit mask of everything that can run after it, loops followed."""
    masks = [0] * len(successors)
    for component in _components(successors):
        mask = 0
        for node in component:
            for target in successors[node]:
                mask |= masks[target] | (1 << target)
        for node in component:
            masks[node] = mask
    return tuple(masks)


def reached_from(successors: Successors, starts: Iterable[int]) -> set[int]:
    """The starts and everything that can run after them."""
    found = set(starts)
    left = list(found)
    while left:
        for target in successors[left.pop()]:
            if target not in found:
                found.add(target)
                left.append(target)
    return found


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


def _components(successors: Successors) -> Iterator[list[int]]:
    """The nodes in groups that can all reach each other, each group after all that it leads to (Tarjan's algorithm)."""
    found = [0] * len(successors)  # when each node was met, from 1
    lowest = [0] * len(successors)  # the first-met node that it leads back to
    open_: list[int] = []
    is_open = [False] * len(successors)
    met = 0
    for root in range(len(successors)):
        stack = [] if found[root] else [(root, iter(successors[root]))]
        while stack:
            node, targets = stack[-1]
            if not found[node]:
                met += 1
                found[node] = lowest[node] = met
                open_.append(node)
                is_open[node] = True
            for target in targets:
                if not found[target]:
                    stack.append((target, iter(successors[target])))
                    break
                if is_open[target]:
                    lowest[node] = min(lowest[node], lowest[target])
            else:
                stack.pop()
                if stack:
                    before = stack[-1][0]
                    lowest[before] = min(lowest[before], lowest[node])
                if lowest[node] == found[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(open_.pop())
                        is_open[component[-1]] = False
                    yield component
