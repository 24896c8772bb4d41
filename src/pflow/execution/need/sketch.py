"""A plan to look at, of a document that cannot run as it is: nodes of unknown types are there as boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import Document
from pflow.core.event import Section
from pflow.core.template.compiled import Compiled
from pflow.engine.plan import Plan, PlanNode
from pflow.execution.node_check import CheckedNode
from pflow.execution.node_param import NodeParams
from pflow.execution.repeat.purity import purity_of


def sketch_plan(
    document: Document,
    nodes: Sequence[CheckedNode],
    starts: Sequence[int],
    sections: Mapping[Section, int],
    outputs: Mapping[str, Compiled],
    name: str,
) -> Plan:
    """Everything of a document that can be shown. It is never run."""
    return Plan(
        nodes=tuple(_node(node) for node in nodes),
        starts=tuple(starts),
        name=name,
        inputs=document.inputs,
        outputs=outputs,
        raw={"document": document.raw, "children": {}},
        sections=sections,
        timeout=document.timeout,
    )


def _node(node: CheckedNode) -> PlanNode:
    spec = node.spec
    return PlanNode(
        id=spec.id,
        number=node.index,
        type=spec.type,
        params=NodeParams(node.params, {}),
        definition="",
        node_hash="",
        edges=node.edges,
        implied=tuple(node.implied),
        child=node.child or node.child_sketch,
        purity=purity_of(node),
        batch=node.batch,
        retry=spec.retry,
        timeout=spec.timeout,
        limit=spec.limit,
        missing=_missing(node),
    )


def _missing(node: CheckedNode) -> str:
    """What the node needs that is not there; "" if everything is."""
    spec = node.spec
    if node.entry is None:
        if spec.mcp_server and spec.mcp_tool:
            return f"tool `{spec.mcp_tool}` of server `{spec.mcp_server}`"
        kind = "tool" if spec.type.startswith("mcp-") else "node type"
        return f"{kind} `{spec.type}`"
    if node.lacks_workflow:
        return f"workflow `{spec.params.get('workflow')}`"
    if node.child_sketch is not None:
        inner = [f"{inside.missing} in `{inside.id}`" for inside in node.child_sketch.nodes if inside.missing]
        return ", ".join(inner)
    return ""
