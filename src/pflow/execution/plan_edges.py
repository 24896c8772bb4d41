"""From a document's edges, or from what its templates name, to the edges and starting nodes of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import Document
from pflow.engine.graph import back_edges
from pflow.execution.node_check import CheckedNode, Report


def plan_edges(document: Document, nodes: Sequence[CheckedNode], report: Report) -> list[int]:
    """Give each node its edges; where the plan begins."""
    ids = {spec.id: index for index, spec in enumerate(document.nodes)}
    if document.data_edges:
        if document.start_node is not None:
            report("start-node", "`start_node` does not apply where the templates give the order", ("start_node",))
        return _data_edges(ids, nodes, report)
    for edge in document.edges:
        if edge.source in ids and edge.target in ids:
            nodes[ids[edge.source]].lead(edge.action, ids[edge.target])
    return [ids.get(document.start_node or "", 0)]


def _data_edges(ids: Mapping[str, int], nodes: Sequence[CheckedNode], report: Report) -> list[int]:
    """Edges from each node to those whose templates name it."""
    has_source = set()
    for node in nodes:
        compiled = [*node.params.values(), *([node.batch.items] if node.batch else [])]
        for root in dict.fromkeys(r.root for c in compiled for r in c.references if r.root in ids):
            if ids[root] != node.index:
                nodes[ids[root]].lead("default", node.index)
                has_source.add(node.index)
    starts = [index for index in range(len(nodes)) if index not in has_source]
    targets = [node.edges.get("default", ()) for node in nodes]
    if nodes and (not starts or back_edges(targets, range(len(nodes)))):
        message = "the templates of these nodes need each other; no order satisfies them"
        report("data-cycle", message, ("edges",))
    return starts or [0]
