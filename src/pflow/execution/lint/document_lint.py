"""All that is noticed in a document which can run: in its code, its commands and its loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.document.document import KeyMapping
from pflow.core.template.compiled import Compiled
from pflow.execution.fit.given import GivenTypes
from pflow.execution.node_check import CheckedNode, Report


def lint_document(
    nodes: Sequence[CheckedNode],
    after: Sequence[int],
    outputs: Mapping[str, Compiled],
    mappings: Mapping[str, KeyMapping],
    types: GivenTypes,
    report: Report,
) -> None:
    """Report what runs but is probably a mistake."""
    types_used = {node.spec.type for node in nodes}
    if "code" in types_used:
        from pflow.execution.lint.code_lint import lint_code  # lazy: only for documents with code

        compiled = [*outputs.values(), *(value for node in nodes for value in node.params.values())]
        lint_code(nodes, mappings, [used for value in compiled for used in value.references], report)
    if "shell" in types_used:
        from pflow.execution.lint.word_list import lint_word_lists  # lazy: only for documents with commands

        lint_word_lists(nodes, types, report)
    if any(after[node.index] >> node.index & 1 for node in nodes):
        from pflow.execution.lint.endless_loop import lint_loops  # lazy: only for documents with loops

        lint_loops(nodes, after, report)
