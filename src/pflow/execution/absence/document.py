"""What may be absent in a document, if anything may: nothing of this is imported where all nodes always run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.execution.node_check import CheckedNode, Report

if TYPE_CHECKING:
    from pflow.core.document.document import Document
    from pflow.core.template.compiled import Compiled


def check_absence(
    document: Document,
    nodes: Sequence[CheckedNode],
    starts: Sequence[int],
    after: Sequence[int],
    outputs: Mapping[str, Compiled],
    report: Report,
) -> None:
    """Report what steps and outputs name although it may be absent."""
    sections = [node.index for node in nodes if node.spec.id in document.sections.values()]
    if not sections and not any(node.chooses for node in nodes):
        return
    # lazy: where there is one way, every node runs
    from pflow.execution.absence.check import AbsenceCheck
    from pflow.execution.absence.flow import Flow
    from pflow.execution.absence.output import check_outputs

    flow = Flow(nodes, starts, after, sections)
    AbsenceCheck(document, nodes, flow, report).check()
    check_outputs(nodes, flow, outputs, report)
