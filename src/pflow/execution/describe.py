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
        edges=document.get("edges", []),
        template_variables=sorted({reference.root for reference in references}),
        statistics=statistics,
    )
