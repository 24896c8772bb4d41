"""Where a plan's nodes stand when it is drawn: rows for text, layers and coordinates for a picture."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from pflow.core.interface import ERROR_ACTIONS
from pflow.engine.graph import back_edges
from pflow.engine.plan import Plan

_SWEEPS = 24
"""Passes down and up the layers, each of which leaves fewer crossings."""

_MANY = 4000
"""With more points than this a picture is unreadable; it must not take minutes as well, so it gets less care."""


_WIDEST = 2400.0
"""Pixels of a layer; what is wider goes into several rows."""

_BETWEEN_LINES = 4.0
"""Pixels between two lines that pass a layer side by side."""


class Link(NamedTuple):
    """All edges between two nodes as one line: the actions that take it, and whether it leads back."""

    source: int
    target: int
    actions: tuple[str, ...]
    back: bool

    @property
    def label(self) -> str:
        """The actions, where they are worth saying."""
        return "" if self.actions == ("default",) else ", ".join(self.actions)

    @property
    def is_error(self) -> bool:
        """Whether only a failure takes it."""
        return all(action in ERROR_ACTIONS for action in self.actions)


class Layout(NamedTuple):
    """Centres of boxes by node, and for each forward link the places where it passes a layer."""

    x: tuple[float, ...]
    layer: tuple[int, ...]
    bends: tuple[tuple[float, ...], ...]
    layers: int


def links_of(plan: Plan) -> list[Link]:
    """Every pair of nodes with an edge between them, in document order; a node's plain edges come first."""
    back = back_edges(plan.successors, plan.starts)
    links = []
    for node in plan.nodes:
        actions: dict[int, list[str]] = {}
        for action, targets in sorted(node.edges.items(), key=lambda pair: pair[0] != "default"):
            for target in targets:
                actions.setdefault(target, []).append(action)
        for target, names in actions.items():
            links.append(Link(node.number, target, tuple(names), (node.number, target) in back))
    return links


def outgoing(plan: Plan, links: Sequence[Link]) -> list[list[Link]]:
    """The links that leave each node."""
    found: list[list[Link]] = [[] for _ in plan.nodes]
    for link in links:
        found[link.source].append(link)
    return found


def order_rows(plan: Plan, links: Sequence[Link]) -> list[int]:
    """The nodes one below the other: each after what leads to it, branches in one piece."""
    waiting = [0] * len(plan.nodes)
    after = outgoing(plan, [link for link in links if not link.back])
    for link in chain.from_iterable(after):
        waiting[link.target] += 1
    ready = [node for node in reversed(range(len(plan.nodes))) if not waiting[node]]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for link in reversed(after[node]):
            waiting[link.target] -= 1
            if not waiting[link.target]:
                ready.append(link.target)
    return order


def place(plan: Plan, links: Sequence[Link], widths: Sequence[float], *, gap: float, thin: float) -> Layout:
    """Layers from top to bottom with few crossings and short, straight lines.

    `widths` are those of the boxes, `gap` is the room between neighbours, `thin` the width of a line that
    passes a layer.
    """
    layer = _wrap(_layers(plan, links), widths, gap=gap, thin=thin)
    forward = [link for link in links if not link.back]
    points = _Points(layer, forward, widths, thin)
    sweeps = _SWEEPS if len(points.layer) < _MANY else 4
    rows = _few_crossings(points, sweeps)
    x = _straight(points, rows, gap, sweeps)
    return Layout(
        x=tuple(x[: len(plan.nodes)]),
        layer=tuple(layer),
        bends=tuple(tuple(x[point] for point in chain) for chain in points.chains),
        layers=max(layer, default=-1) + 1,
    )


class _Points:
    """Nodes, and a point for every layer that a link only passes, with their neighbours above and below."""

    def __init__(self, layer: Sequence[int], links: Sequence[Link], widths: Sequence[float], thin: float) -> None:
        self._nodes = len(layer)
        self.layer = list(layer)
        self.width = list(widths)
        self.above: list[list[int]] = [[] for _ in layer]
        self.below: list[list[int]] = [[] for _ in layer]
        self.chains: list[list[int]] = []
        passes = sum(layer[link.target] - layer[link.source] - 1 for link in links)
        for link in links:
            chain = []
            last = link.source
            for passed in range(layer[link.source] + 1, layer[link.target]) if passes <= _MANY else ():
                point = len(self.layer)
                self.layer.append(passed)
                self.width.append(thin)
                self.above.append([])
                self.below.append([])
                self._join(last, point)
                chain.append(point)
                last = point
            if layer[link.target] == self.layer[last] + 1:
                self._join(last, link.target)
            self.chains.append(chain)

    def pull(self, one: int, other: int) -> float:
        """How strongly two neighbours want to stand on one line."""
        passing = (one >= self._nodes) + (other >= self._nodes)
        return (1.0, 3.0, 12.0)[passing]

    def distance(self, left: int, right: int, gap: float) -> float:
        """How far apart the centres of two neighbours in a row are at least; two lines may come closer than boxes."""
        lines = left >= self._nodes and right >= self._nodes
        return (self.width[left] + self.width[right]) / 2 + (_BETWEEN_LINES if lines else gap)

    def _join(self, upper: int, lower: int) -> None:
        self.below[upper].append(lower)
        self.above[lower].append(upper)


def _layers(plan: Plan, links: Sequence[Link]) -> list[int]:
    layer = [0] * len(plan.nodes)
    after = outgoing(plan, [link for link in links if not link.back])
    for node in order_rows(plan, links):
        for link in after[node]:
            layer[link.target] = max(layer[link.target], layer[node] + 1)
    for section in plan.sections:
        above = [layer[number] for number in range(len(layer)) if plan.section_of(number) != section]
        down = max(above, default=-1) + 1
        layer = [at + down if plan.section_of(number) == section else at for number, at in enumerate(layer)]
    return layer


def _wrap(layer: Sequence[int], widths: Sequence[float], *, gap: float, thin: float) -> list[int]:
    """The layers with each that is too wide in several rows, column by column; those below it move down."""
    members: dict[int, list[int]] = {}
    for node, number in enumerate(layer):
        members.setdefault(number, []).append(node)
    wrapped = [0] * len(layer)
    top = 0
    for number in sorted(members):
        nodes = members[number]
        rows = _rows_for(
            sum(widths[node] + 2 * gap for node in nodes), len(nodes) * (thin + _BETWEEN_LINES), len(nodes)
        )
        for place_, node in enumerate(nodes):
            wrapped[node] = top + place_ % rows
        top += rows
    return wrapped


def _rows_for(boxes: float, lines: float, count: int) -> int:
    """In how many rows boxes stand, when the lines of the others pass each row: the fewest that are not too wide."""
    return next((rows for rows in range(1, count) if (boxes + lines * (rows - 1)) / rows <= _WIDEST), count)


def _few_crossings(points: _Points, sweeps: int) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(points.layer, default=-1) + 1)]
    seen = set()
    stack = [point for point in reversed(range(len(points.layer))) if not points.above[point]]
    while stack:
        point = stack.pop()
        if point in seen:
            continue
        seen.add(point)
        rows[points.layer[point]].append(point)
        stack.extend(reversed(points.below[point]))
    best, fewest = [list(row) for row in rows], _crossings(points, rows)
    for sweep in range(sweeps):
        if not fewest:
            break
        down = sweep % 2 == 0
        neighbours = points.above if down else points.below
        position = {point: index for row in rows for index, point in enumerate(row)}
        for row in rows if down else reversed(rows):
            centre = {
                point: sum(position[n] for n in neighbours[point]) / len(neighbours[point])
                if neighbours[point]
                else position[point]
                for point in row
            }
            row.sort(key=centre.__getitem__)
            position.update({point: index for index, point in enumerate(row)})
        count = _crossings(points, rows)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    return best


def _crossings(points: _Points, rows: Sequence[Sequence[int]]) -> int:
    count = 0
    for row in rows[1:]:
        ends: list[int] = []
        position = {n: i for i, n in enumerate(rows[points.layer[row[0]] - 1])} if row else {}
        for point in row:
            mine = [position[n] for n in points.above[point]]
            count += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return count


def _straight(points: _Points, rows: Sequence[Sequence[int]], gap: float, sweeps: int) -> list[float]:
    """Each point between its neighbours where there is room; long lines pull hardest and so stay straight."""
    x = [0.0] * len(points.layer)
    for row in rows:
        for before, after in pairwise(row):
            x[after] = x[before] + points.distance(before, after, gap)
    for sweep in range(sweeps * 2):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            wanted, pull = [], []
            for point in row:
                near = [(x[n], points.pull(point, n)) for n in points.above[point] + points.below[point]]
                total = sum(weight for _, weight in near)
                wanted.append(sum(at * weight for at, weight in near) / total if near else x[point])
                pull.append(total or 1.0)
            for point, value in zip(row, _apart(row, wanted, pull, points, gap), strict=True):
                x[point] = value
    left = min((x[p] - points.width[p] / 2 for p in range(len(x))), default=0.0)
    return [value - left for value in x]


def _apart(
    row: Sequence[int], wanted: Sequence[float], pull: Sequence[float], points: _Points, gap: float
) -> list[float]:
    """The positions nearest to the wanted ones, in order and without overlap.

    Taking away the room that lies to the left turns distances into an order to keep: then neighbours that
    are out of order share their mean (pool adjacent violators).
    """
    offset = [0.0]
    for left, right in pairwise(row):
        offset.append(offset[-1] + points.distance(left, right, gap))
    pools: list[tuple[float, float, int]] = []
    for value, weight, shift in zip(wanted, pull, offset, strict=False):
        mean, size = value - shift, 1
        while pools and pools[-1][0] > mean:
            before, mass, count = pools.pop()
            mean = (mean * weight + before * mass) / (weight + mass)
            weight, size = weight + mass, size + count
        pools.append((mean, weight, size))
    flat = [mean for mean, _, size in pools for _ in range(size)]
    return [mean + shift for mean, shift in zip(flat, offset, strict=False)]
