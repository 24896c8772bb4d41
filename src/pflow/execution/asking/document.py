"""The questions and waits of a document, if it has any: nothing about them is imported for the others."""

from __future__ import annotations

from collections.abc import Sequence

from pflow.core.duration import write_duration
from pflow.execution.node_check import CheckedNode, Report


def check_asking(nodes: Sequence[CheckedNode], after: Sequence[int], report: Report) -> None:
    """Report what is wrong with questions, waits and approvals."""
    for node in nodes:
        if node.is_built_in("ask"):
            from pflow.execution.asking.ask_check import check_ask  # lazy: many documents ask nothing

            check_ask(node, report)
        elif node.is_built_in("wait"):
            from pflow.execution.asking.wait_check import check_wait  # lazy: many documents never wait

            check_wait(node, report)
        elif node.is_built_in("llm"):
            from pflow.execution.model.llm_check import check_llm  # lazy: many documents ask no model

            check_llm(node, report)
        if node.waits:
            _check_level(node, report)
        if node.spec.approve is not None:
            _check_approval(node, report)
        if node.spec.batch is not None and node.spec.batch.spread and not node.is_built_in("workflow"):
            report(
                "unexpected-field",
                f"`spread` makes runs of the items of a `workflow` node, and `{node.spec.id}` is of type "
                f"`{node.spec.type}`",
                ("nodes", node.index, "batch", "spread"),
                hint="put the step into a document of its own, and run that with a node of type `workflow`",
            )
        if node.spec.batch is not None and node.spec.batch.spread and node.spec.approve is not None:
            report(
                "unexpected-field",
                f"the items of `{node.spec.id}` may be runs of their own, which are not approved here",
                ("nodes", node.index, "approve"),
                hint="put `approve` on the node in the document of the items that takes effect",
            )
    if any(node.is_built_in("wait") for node in nodes):
        from pflow.execution.asking.wait_check import check_self_waits  # lazy: many documents never wait

        check_self_waits(nodes, after, report)


def may_wait(node: CheckedNode) -> bool:
    """Whether a step of a node can ask or wait, itself or inside. In a section it must not."""
    if node.waits or node.approve is not None or (node.child is not None and node.child.may_wait):
        return True
    if node.spec.batch is not None and node.spec.batch.spread:
        return node.section is None  # its items may be runs that it waits for
    return node.is_built_in("llm") and node.section is None


def _check_level(node: CheckedNode, report: Report) -> None:
    """What the engine does with other nodes does not apply to one that waits."""
    spec, path = node.spec, ("nodes", node.index)
    if spec.timeout is not None:
        message = f"the `timeout` of a node of type `{spec.type}` stands in its `params`"
        report(
            "unexpected-field",
            message,
            (*path, "timeout"),
            hint=f"write `params: {{timeout: {write_duration(spec.timeout)}}}`",
        )
    if spec.retry is not None:
        message = f"a node of type `{spec.type}` is not tried again: it waits"
        report("unexpected-field", message, (*path, "retry"), hint="it waits for as long as its `timeout` says")


def _check_approval(node: CheckedNode, report: Report) -> None:
    spec, path = node.spec, ("nodes", node.index, "approve")
    if node.waits:
        message = f"`approve` does not apply to `{spec.id}` ({spec.type}), which has no effects"
        report("unexpected-field", message, path, hint="leave it out")
    if spec.approve is not None and spec.approve.timeout is None and "timeout" in node.edges and spec.timeout is None:
        message = f"`{spec.id}` has an edge for `timeout` but waits for ever for its approval"
        report("missing-field", message, path, hint="write `approve: {timeout: 3d}`")
