"""What may not stand in a section: steps that wait for somebody, or for long. A run that ends does not wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import Document
from pflow.core.duration import read_duration
from pflow.engine.plan import Plan
from pflow.execution.node_check import CheckedNode, Report

LONGEST_WAIT_SECONDS = 60
"""How long a `wait` in a section may take."""


def check_waiting(document: Document, nodes: Sequence[CheckedNode], report: Report) -> None:
    """Report the steps of sections that would wait."""
    written = document.raw.get("nodes")
    for node in nodes if document.sections else ():
        reason = _reason(node, written) if node.section else ""
        if reason:
            report(
                "section-wait",
                f"`{node.spec.id}` {reason}, which cannot be done in `{node.section}`: a run that ends does not wait",
                ("nodes", node.index),
                hint="do it in the main part, or leave it out",
            )


def _reason(node: CheckedNode, written: object) -> str:
    raw = written[node.index] if isinstance(written, list) else None
    if isinstance(raw, Mapping) and raw.get("approve") not in (None, False):
        return "asks for approval"
    if node.spec.type == "ask":
        return "asks a question"
    if node.spec.type == "wait" and _is_long(node.spec.params):
        return f"may wait for more than {LONGEST_WAIT_SECONDS} s"
    inner = _asking(node.child) if node.child is not None else ""
    return f"runs a workflow whose node `{inner}` asks a question" if inner else ""


def _is_long(params: Mapping[str, object]) -> bool:
    seconds = read_duration(params.get("for"))
    return seconds is None or seconds > LONGEST_WAIT_SECONDS


def _asking(plan: Plan) -> str:
    for node in plan.nodes:
        found = node.id if node.type == "ask" else _asking(node.child) if node.child is not None else ""
        if found:
            return found
    return ""
