"""What a workflow takes, gives and does, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pflow.core.document.inputs_outputs import describe_input
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.engine.plan import Plan


class Description(Frozen):
    """A workflow for people and agents; `statistics` are those of one that is saved."""

    name: str
    description: str
    inputs: Mapping[str, JsonView]
    outputs: JsonView
    nodes: Sequence[JsonView]
    edges: object
    template_variables: Sequence[str]
    statistics: SavedWorkflow | None = None


def _edges(plan: Plan) -> list[JsonView]:
    """Every edge of a plan; `implied` are those that the order of the document added."""
    return [
        {"from": node.id, "to": plan.nodes[target].id, **_said(action, action in node.implied)}
        for node in plan.nodes
        for action, targets in node.edges.items()
        for target in targets
    ]


def _said(action: str, implied: bool) -> JsonView:
    return {**({"action": action} if action != "default" else {}), **({"implied": True} if implied else {})}


def describe_plan(plan: Plan, statistics: SavedWorkflow | None = None) -> Description:
    """Inputs, outputs, nodes, edges, and the names that the templates of a plan use."""
    document: Any = plan.raw["document"]
    references = (reference for node in plan.nodes for reference in node.params.references)
    return Description(
        name=plan.name,
        description=document.get("description", ""),
        inputs={name: describe_input(declared) for name, declared in plan.inputs.items()},
        outputs=document.get("outputs", {}),
        nodes=[{"id": node.id, "type": node.type, "purity": node.purity} for node in plan.nodes],
        edges="data" if document.get("edges") == "data" else _edges(plan),
        template_variables=sorted({reference.root for reference in references}),
        statistics=statistics,
    )
