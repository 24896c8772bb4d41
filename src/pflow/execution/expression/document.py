"""The expressions of a document, if it has any: nothing of the language is imported for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pflow.engine.graph import forward_order
from pflow.execution.node_check import CheckedNode, Report

_COMPUTING = ("let", "switch", "filter", "map")

if TYPE_CHECKING:
    from pflow.core.document.document import Document
    from pflow.core.interface import Interface
    from pflow.engine.plan import PlanNode
    from pflow.execution.fit.given import GivenTypes
    from pflow.execution.reference import References


def infer_types(
    nodes: Sequence[CheckedNode],
    starts: Sequence[int],
    interfaces: list[Interface | None],
    document: Document,
    given: GivenTypes,
    references: References,
    report: Report,
) -> None:
    """Let what steps compute have the types of their expressions."""
    if not any(node.is_built_in(name) for node in nodes for name in _COMPUTING):
        return
    from pflow.execution.expression.check import ExpressionCheck  # lazy: many documents have none
    from pflow.execution.expression.inferred import infer_outputs  # lazy: many documents have none

    checks = ExpressionCheck(document, given, references, report)
    for number in forward_order([node.targets() for node in nodes], starts):
        node = nodes[number]
        node.inferred = infer_outputs(node, checks, given)
        if node.inferred is not None:
            interfaces[node.index] = node.visible_outputs()


def check_expressions(
    nodes: Sequence[CheckedNode], document: Document, given: GivenTypes, references: References, report: Report
) -> Callable[[], Sequence[PlanNode]]:
    """Check every expression. What is returned makes the steps that decide between edges, once all is well."""
    if not any(_has_expressions(node) for node in nodes):
        return list
    from pflow.execution.expression.check import ExpressionCheck  # lazy: many documents have none
    from pflow.execution.expression.choice import check_choices, choice_nodes  # lazy: many documents have none

    checks = ExpressionCheck(document, given, references, report)
    for node in nodes:
        checks.check_params(node)
        checks.check_conditions(node)
    conditions = [check_choices(node, checks, report) for node in nodes]
    return lambda: choice_nodes(nodes, conditions)


def _has_expressions(node: CheckedNode) -> bool:
    computed = any(compiled.is_computed for compiled in (*node.params.values(), *node.conditions()))
    return computed or bool(node.choices_made)
