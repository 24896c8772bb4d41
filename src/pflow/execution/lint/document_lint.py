"""All that is noticed in a document which can run: in its code, its commands and its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import KeyMapping
from pflow.core.template.compiled import Compiled
from pflow.execution.fit.given import GivenTypes
from pflow.execution.lint.absent_output import lint_outputs
from pflow.execution.lint.code_lint import lint_code
from pflow.execution.lint.word_list import lint_word_lists
from pflow.execution.node_check import CheckedNode, Report


def lint_document(
    nodes: Sequence[CheckedNode],
    starts: Sequence[int],
    outputs: Mapping[str, Compiled],
    mappings: Mapping[str, KeyMapping],
    types: GivenTypes,
    report: Report,
) -> None:
    """Report what runs but is probably a mistake."""
    compiled = [*outputs.values(), *(value for node in nodes for value in node.params.values())]
    lint_code(nodes, mappings, [used for value in compiled for used in value.references], report)
    lint_word_lists(nodes, types, report)
    lint_outputs(nodes, starts, outputs, report)
