"""From a document's edges, or from what its templates name, to the edges and starting nodes of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import Document
from pflow.core.template.compiled import Compiled
from pflow.engine.graph import back_edges
from pflow.engine.plan import PlanBatch
from pflow.execution.node_check import Report

Edges = list[dict[str, tuple[int, ...]]]
"""For each node, the targets of its actions."""


def plan_edges(
    document: Document, params: Sequence[Mapping[str, Compiled]], batches: Sequence[PlanBatch | None], report: Report
) -> tuple[Edges, list[int]]:
    """The edges of each node, and where the plan begins."""
    ids = {spec.id: index for index, spec in enumerate(document.nodes)}
    if document.data_edges:
        if document.start_node is not None:
            report("start-node", "`start_node` means nothing where the templates give the order", ("start_node",))
        return _data_edges(ids, params, batches, report)
    edges: Edges = [{} for _ in document.nodes]
    for edge in document.edges:
        if edge.source in ids and edge.target in ids:
            source = edges[ids[edge.source]]
            source[edge.action] = (*source.get(edge.action, ()), ids[edge.target])
    return edges, [ids.get(document.start_node or "", 0)]


def _data_edges(
    ids: Mapping[str, int],
    params: Sequence[Mapping[str, Compiled]],
    batches: Sequence[PlanBatch | None],
    report: Report,
) -> tuple[Edges, list[int]]:
    """Edges from each node to those whose templates name it."""
    edges: Edges = [{} for _ in params]
    has_source = set()
    for index, (own, batch) in enumerate(zip(params, batches, strict=True)):
        compiled = [*own.values(), *([batch.items] if batch else [])]
        for root in dict.fromkeys(r.root for c in compiled for r in c.references if r.root in ids):
            if ids[root] != index:
                edges[ids[root]]["default"] = (*edges[ids[root]].get("default", ()), index)
                has_source.add(index)
    starts = [index for index in range(len(edges)) if index not in has_source]
    targets = [edge.get("default", ()) for edge in edges]
    if edges and (not starts or back_edges(targets, range(len(edges)))):
        message = "the templates of these nodes need each other; no order satisfies them"
        report("data-cycle", message, ("edges",))
    return edges, starts or [0]
