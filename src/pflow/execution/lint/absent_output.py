"""Which outputs of a document a run may leave null, because what they name need not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pflow.core.interface import ERROR_ACTIONS, MISSING
from pflow.core.template.compiled import Compiled, Parts, Reference
from pflow.execution.node_check import CheckedNode, Report

_FAILED = frozenset(ERROR_ACTIONS)


def lint_outputs(
    nodes: Sequence[CheckedNode], starts: Sequence[int], outputs: Mapping[str, Compiled], report: Report
) -> None:
    """Report, as a notice, each output that a completed run can leave null."""
    ids = {node.spec.id: node for node in nodes}
    for name, source in outputs.items():
        for reference in source.references:
            node = ids.get(reference.root)
            if node is not None and reference.default is MISSING and _can_be_absent(nodes, starts, node, reference):
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


def _when(node: CheckedNode, reference: Reference) -> str:
    if reference.path[:1] == ("error",):
        return f"`{node.spec.id}` does not fail"
    fails = " or fails" if not _FAILED.isdisjoint(node.edges) else ""
    return f"`{node.spec.id}` does not run{fails}"


def _can_be_absent(
    nodes: Sequence[CheckedNode], starts: Sequence[int], node: CheckedNode, reference: Reference
) -> bool:
    """Whether a run can end well without the node having written what the reference names.

    The least set of nodes from which a run can end so: one of their actions leads only into that set. What goes
    round in a loop for ever does not end, and counts as no way out.
    """
    failing = reference.path[:1] == ("error",)
    free = [False] * len(nodes)
    changed = True
    while changed:
        changed = False
        for each in reversed(nodes):
            if not free[each.index] and any(
                all(free[target] for target in targets) for targets in _ways(each, each is node, failing)
            ):
                free[each.index] = changed = True
    return all(free[start] for start in starts)


def _ways(node: CheckedNode, is_wanted: bool, failing: bool) -> Iterator[tuple[int, ...]]:
    """Where each action of a node leads that does not write what is wanted; an unhandled failure ends the run badly."""
    actions = {**({} if "default" in node.edges or _never_default(node) else {"default": ()}), **node.edges}
    for action, targets in actions.items():
        if not is_wanted or (action in _FAILED) is not failing:
            yield targets


def _never_default(node: CheckedNode) -> bool:
    declared = node.interface.actions if node.interface else ()
    return bool(declared) and "default" not in declared
