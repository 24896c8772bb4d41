"""What may not stand in a section: steps that wait for somebody, or for long. A run that ends does not wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import Document
from pflow.core.duration import read_duration
from pflow.engine.plan import Plan, PlanNode
from pflow.execution.node_check import CheckedNode, Report

LONGEST_WAIT_SECONDS = 60
"""How long a `wait` in a section may take."""

_ASKS = "asks a question"
_APPROVED = "asks for approval"
_WAITS = f"may wait for more than {LONGEST_WAIT_SECONDS} s"


def check_waiting(document: Document, nodes: Sequence[CheckedNode], report: Report) -> None:
    """Report the steps of sections that would wait, themselves or inside of a workflow."""
    written = document.raw.get("nodes")
    for node in nodes if document.sections else ():
        reason = _reason(node, written) if node.section else ""
        inner = _waiting_inside(node.child) if node.section and node.child is not None and not reason else ""
        if reason or inner:
            report(
                "section-wait",
                f"`{node.spec.id}` {reason or f'runs a workflow whose node {inner}'}, which cannot be done in "
                f"`{node.section}`: a run that ends does not wait",
                ("nodes", node.index),
                hint="do it in the main part, or leave it out",
                newer=not reason and not inner.endswith(_ASKS),
            )


def _reason(node: CheckedNode, written: object) -> str:
    raw = written[node.index] if isinstance(written, list) else None
    if isinstance(raw, Mapping) and raw.get("approve") not in (None, False):
        return _APPROVED
    if node.spec.type == "ask":
        return _ASKS
    return _WAITS if node.spec.type == "wait" and _is_long(node.spec.params.get("for")) else ""


def _waiting_inside(plan: Plan) -> str:
    """The first node of a workflow that would wait, and how; nothing if there is none."""
    for node in plan.nodes if plan.may_wait else ():
        reason = _reason_inside(node)
        if reason:
            return f"`{node.id}` {reason}"
        inner = _waiting_inside(node.child) if node.child is not None else ""
        if inner:
            return inner
    return ""


def _reason_inside(node: PlanNode) -> str:
    if node.approve is not None:
        return _APPROVED
    if not node.may_wait or node.child is not None:
        return ""
    if node.type == "ask":
        return _ASKS
    lasts = node.params.named().get("for")
    return _WAITS if node.type == "wait" and _is_long(None if lasts is None else lasts.value) else ""


def _is_long(lasts: object) -> bool:
    seconds = read_duration(lasts)
    return seconds is None or seconds > LONGEST_WAIT_SECONDS
