"""The expressions of a document, if it has any: nothing of the language is imported for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pflow.execution.node_check import CheckedNode, Report

if TYPE_CHECKING:
    from pflow.core.document.document import Document
    from pflow.engine.plan import PlanNode
    from pflow.execution.fit.given import GivenTypes
    from pflow.execution.reference import References


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
