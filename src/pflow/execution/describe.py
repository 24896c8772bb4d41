"""What a workflow takes, gives and does, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pflow.core.document.inputs_outputs import describe_input
from pflow.core.frozen import Frozen
from pflow.core.json_type import JsonView
from pflow.core.library.saved_workflow import SavedWorkflow
from pflow.engine.plan import Plan, PlanNode
from pflow.execution.check import Checked
from pflow.execution.need.ability import Ability, abilities_of


class Description(Frozen):
    """A workflow for people and agents; `statistics` are those of one that is saved.

    `missing` is what it lacks to run, a sentence each, and `abilities` what it can do, step by step. `sections` are
    the nodes that `on_failure` and `finally` begin with, and `timeout` is in seconds. `state` is what it keeps between
    runs, as its document declares it.
    """

    name: str
    description: str
    inputs: Mapping[str, JsonView]
    outputs: JsonView
    nodes: Sequence[JsonView]
    edges: object
    template_variables: Sequence[str]
    statistics: SavedWorkflow | None = None
    requires: JsonView | None = None
    missing: Sequence[str] = ()
    abilities: Sequence[Ability] = ()
    sections: Mapping[str, str] = {}
    timeout: float | None = None
    state: Mapping[str, object] = {}


def _edges(plan: Plan) -> list[JsonView]:
    """Every edge of a plan; `implied` are those that the order of the document added."""
    found: list[JsonView] = []
    for node in plan.nodes:
        for action, targets in node.edges.items() if node.choice is None else ():
            said = _said(action, action in node.implied)
            choice = plan.nodes[targets[0]] if targets and plan.nodes[targets[0]].choice is not None else None
            if choice is None:
                found += [{"from": node.id, "to": plan.nodes[target].id, **said} for target in targets]
                continue
            for case, ends in choice.edges.items():
                when = choice.labels[case].removeprefix("when ")
                found += [{"from": node.id, "to": plan.nodes[end].id, **said, "when": when} for end in ends]
    return found


def _said(action: str, implied: bool) -> JsonView:
    return {**({"action": action} if action != "default" else {}), **({"implied": True} if implied else {})}


def describe_checked(checked: Checked, statistics: SavedWorkflow | None = None) -> Description:
    """Inputs, outputs, nodes, edges, and the names that the templates of a workflow use, as far as they are known."""
    plan = checked.shown_plan()
    document: Any = plan.raw["document"]
    references = (reference for node in plan.nodes for reference in node.params.references)
    return Description(
        name=plan.name,
        description=document.get("description", ""),
        inputs={name: describe_input(declared) for name, declared in plan.inputs.items()},
        outputs=document.get("outputs", {}),
        nodes=[_node(node, plan.section_of(node.number)) for node in plan.drawn.nodes],
        edges="data" if document.get("edges") == "data" else _edges(plan),
        template_variables=sorted({reference.root for reference in references}),
        statistics=statistics,
        requires=document.get("requires"),
        missing=missing_of(checked),
        abilities=abilities_of(checked.source),
        sections={section: plan.nodes[first].id for section, first in plan.sections.items()},
        timeout=plan.timeout,
        state=document.get("state") or {},
    )


def missing_of(checked: Checked) -> tuple[str, ...]:
    """What a workflow lacks to run, in one list: what its document requires, and what its steps name."""
    steps = [f"{node.missing} (step `{node.id}`)" for node in checked.shown_plan().nodes if node.missing]
    return (*(issue.message for issue in checked.missing), *steps)


def _node(node: PlanNode, section: str | None) -> dict[str, object]:
    shown: dict[str, object] = {"id": node.id, "type": node.type, "purity": node.purity}
    until = node.retry.until if node.retry is not None else ""
    limit = node.limit.text if node.limit is not None else ""
    more = {
        "limit": limit,
        "until": until,
        "missing": node.missing,
        "section": section,
        "approve": node.approve is not None,
    }
    return shown | {name: value for name, value in more.items() if value}
