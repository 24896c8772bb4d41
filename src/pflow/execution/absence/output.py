"""Which outputs of a document a run may leave null, because what they name need not run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pflow.core.interface import MISSING
from pflow.core.template.compiled import Compiled, Parts, Reference
from pflow.execution.absence.flow import ANYTHING, FAILED, GIVEN, Flow
from pflow.execution.node_check import CheckedNode, Report


def check_outputs(nodes: Sequence[CheckedNode], flow: Flow, outputs: Mapping[str, Compiled], report: Report) -> None:
    """Report, as a notice, each output that a completed run can leave null."""
    ids = {node.spec.id: node for node in nodes}
    missed = {endings: flow.can_be_missed(endings) for endings in (GIVEN, FAILED, ANYTHING)}
    for name, source in outputs.items():
        for reference in source.references:
            node = ids.get(reference.root)
            if node is None or reference.default is not MISSING:
                continue
            wanted = FAILED if _is_error(reference) else GIVEN if reference.path else ANYTHING
            if missed[wanted] >> node.index & 1:
                verb = "is" if source.is_single or isinstance(source, Parts) else "holds"
                report(
                    "maybe-null",
                    f"output `{name}` {verb} null in a run in which {_when(node, reference)}",
                    ("outputs", name),
                    hint=f"give a default if null is not what you want: `{reference.text[:-1]}:-…}}`",
                    severity="notice",
                    newer=True,
                )
                break


def _is_error(reference: Reference) -> bool:
    return reference.path[:1] == ("error",)


def _when(node: CheckedNode, reference: Reference) -> str:
    if _is_error(reference):
        return f"`{node.spec.id}` does not fail"
    skipped = "is skipped" if node.when is not None else "does not run"
    fails = " or fails" if reference.path and any(node.fails_with(action) for action in node.edges) else ""
    return f"`{node.spec.id}` {skipped}{fails}"
