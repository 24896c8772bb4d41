"""Notices code that gives nothing, or that reads what nobody gives it, before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pflow.core.document.document import KeyMapping
from pflow.core.document.position import Path
from pflow.core.printable import shorten
from pflow.core.suggest import nearest
from pflow.core.template.compiled import Reference
from pflow.execution.node_check import CheckedNode, Report

RESULT = "result"
"""The variable that holds what code gives."""


def lint_code(
    nodes: Iterable[CheckedNode],
    mappings: Mapping[str, KeyMapping],
    references: Iterable[Reference],
    report: Report,
) -> None:
    """Report names that the code of a node reads and does not have, and code that never assigns `result`.

    `references` are all templates of the document: a document that uses only what code prints needs no result.
    """
    used = {(found.root, str(found.path[0])) for found in references if found.path}
    for node in nodes:
        code = node.spec.params.get("code")
        if node.spec.type != "code" or node.entry is None or node.entry.is_user or not isinstance(code, str):
            continue
        mapped = mappings[node.spec.id].input_mappings if node.spec.id in mappings else {}
        inputs = node.spec.params.get("inputs", None if "inputs" in mapped else {})
        prints = (node.spec.id, "stdout") in used and (node.spec.id, RESULT) not in used
        _lint(node, code, tuple(inputs) if isinstance(inputs, dict) else None, prints, report)


def _lint(node: CheckedNode, code: str, inputs: tuple[str, ...] | None, prints: bool, report: Report) -> None:
    from pflow.core.template.python_names import read_names  # lazy: only documents with code need the parser

    names = read_names(code, inputs)
    if names is None:
        return
    path: Path = ("nodes", node.index, "params", "code")
    for found in names.unknown:
        near = nearest(found.name, [*(inputs or ()), *names.bound], limit=1)
        add = f'add it to `inputs`, as `{found.name}: "${{…}}"`'
        report(
            "code-name",
            f"line {found.line}, column {found.column} of the code: nothing defines `{shorten(found.name)}`",
            path,
            known=inputs or (),
            hint=f"did you mean `{near[0]}`? Otherwise {add}" if near else add,
            severity="error" if found.certain else "warning",
            newer=True,
        )
    if RESULT not in names.bound and RESULT not in (inputs or ()) and inputs is not None and not prints:
        report(
            "code-result",
            f"the code of node `{node.spec.id}` never assigns `{RESULT}`, so its result is null",
            path,
            hint=f"end it with `{RESULT} = …`; `{RESULT} = None` says that there is none",
            severity="warning",
            newer=True,
        )
