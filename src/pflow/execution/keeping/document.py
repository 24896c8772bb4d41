"""The state of a document, if it has any: nothing of its checks is imported for the others."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.document.document import Document
from pflow.core.document.position import Path
from pflow.core.library.reference import is_path, is_text
from pflow.execution.node_check import CheckedNode, Report

STATE_SET = "state-set"
"""The node type that sets what is kept."""


def included_name(wanted: object, document: Document | None) -> str | None:
    """The name of a workflow that another one includes: the one it is saved under, or the one that its file says.

    None for a document that stands in place, which has none.
    """
    if not isinstance(wanted, str) or is_text(wanted) or document is None:
        return None
    return document.name if is_path(wanted) else wanted


def prepare_state(document: Document, keeps_as: str | None, nodes: Sequence[CheckedNode], report: Report) -> str:
    """Let nodes that set state take what the document declares, and find out under which name it is kept."""
    setting = [node for node in nodes if node.is_built_in(STATE_SET)]
    if not setting and not document.state:
        return ""
    from pflow.execution.keeping.declared import find_scope, give_interface  # lazy: few documents keep anything

    scope = find_scope(document, keeps_as, report)
    for node in setting:
        give_interface(node, document, scope)
    return scope


def report_undeclared(node: CheckedNode, document: Document, name: str, path: Path, report: Report) -> None:
    """Report a value that a node sets and the document does not declare; that it declares none is said once."""
    if document.state:
        from pflow.execution.keeping.declared import report_unknown_key  # lazy: only for this issue

        report_unknown_key(node, document, name, path, report)


def check_state(
    document: Document, scope: str, nodes: Sequence[CheckedNode], starts: Sequence[int], report: Report
) -> None:
    """Report what is set and would be lost, or could be set by two steps at the same time."""
    if any(node.sets_state or (node.child is not None and node.child.keeps) for node in nodes):
        from pflow.execution.keeping.check import check_sets  # lazy: few documents keep anything

        check_sets(document, scope, nodes, starts, report)
