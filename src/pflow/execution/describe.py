"""What a workflow takes, gives and does, as data."""

from __future__ import annotations

from typing import Any

from pflow.core.document.inputs_outputs import describe_input
from pflow.engine.plan import Plan


def describe_plan(plan: Plan) -> dict[str, object]:
    """A plan for people and agents: inputs, outputs, nodes, edges, and the names its templates use."""
    document: Any = plan.raw["document"]
    references = (reference for node in plan.nodes for reference in node.params.references)
    return {
        "name": plan.name,
        "description": document.get("description", ""),
        "inputs": {name: describe_input(declared) for name, declared in plan.inputs.items()},
        "outputs": document.get("outputs", {}),
        "nodes": [{"id": node.id, "type": node.type, "purity": node.purity} for node in plan.nodes],
        "edges": document.get("edges", []),
        "template_variables": sorted({reference.root for reference in references}),
    }
