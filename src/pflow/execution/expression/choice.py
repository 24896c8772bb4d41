"""Edges with conditions: what decides between them is a step of its own, behind the node that they leave.

So a condition that fails never makes the node run again, and resuming needs no rule of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.expression.tree import Expression
from pflow.core.template.computed import Cases, One, compile_expression
from pflow.engine.plan import PlanNode
from pflow.engine.value import digest_all
from pflow.execution.expression.check import ExpressionCheck
from pflow.execution.node_check import CheckedNode, Report, Way
from pflow.execution.node_param import NodeParams

Conditions = dict[str, Expression]
"""The conditions of one action's edges, in order, under the names that the deciding step ends with."""


def check_choices(node: CheckedNode, checks: ExpressionCheck, report: Report) -> dict[str, Conditions]:
    """The conditions on a node's edges by action; what is wrong with them is reported."""
    return {action: _conditions(node, ways, checks, report) for action, ways in node.choices_made.items()}


def _conditions(node: CheckedNode, ways: Sequence[Way], checks: ExpressionCheck, report: Report) -> Conditions:
    found: Conditions = {}
    for number, way in enumerate(ways, 1):
        if way.when == "else":
            continue
        path = (*way.path, "when")
        compiled, problems = compile_expression(way.when, "condition")
        for problem in problems:
            report("expression", problem.message, path, hint=problem.hint)
        if isinstance(compiled, One):
            checked = checks.check(node, compiled, path, in_batch=False, after=True)
            assert isinstance(checked, One)
            found[str(number)] = checked.expression
    if "else" not in [way.when for way in ways]:
        report(
            "no-else",
            f"none of the conditions on the edges of `{node.spec.id}` may hold, and then the run fails",
            ways[-1].path,
            hint="add an edge with `when: else`, which may lead to `end`",
            severity="warning",
        )
    return found


def choice_nodes(nodes: Sequence[CheckedNode], conditions: Sequence[dict[str, Conditions]]) -> list[PlanNode]:
    """The deciding steps of a document, each in place of what it decides between."""
    made: list[PlanNode] = []
    for node, by_action in zip(nodes, conditions, strict=True):
        for action, cases in by_action.items():
            number = len(nodes) + len(made)
            made.append(_choice_node(node, action, cases, number))
            node.edges[action] = (number,)
    return made


def _choice_node(node: CheckedNode, action: str, cases: Conditions, number: int) -> PlanNode:
    ways = node.choices_made[action]
    names = ["else" if way.when == "else" else str(place) for place, way in enumerate(ways, 1)]
    shown = f"`{node.spec.id}`" + ("" if action == "default" else f" for `{action}`")
    texts = [way.when.encode() for way in ways]
    return PlanNode(
        id=f"{node.spec.id}?" + ("" if action == "default" else action),
        number=number,
        type="choice",
        params=NodeParams({}, {}),
        definition=digest_all([b"choice", *texts]),
        node_hash="choice@1",
        edges={name: () if way.target is None else (way.target,) for name, way in zip(names, ways, strict=True)},
        purity="pure",
        choice=Cases(cases, "" if "else" in names else f"none of the conditions on the edges of {shown} holds"),
        labels={name: "else" if name == "else" else f"when {way.when}" for name, way in zip(names, ways, strict=True)},
    )
