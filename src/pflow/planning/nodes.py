"""Discovery and planning as PocketFlow nodes, for compositions in Python; they are not node types of the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from pocketflow import AsyncNode, Node

from pflow.core.library.workflow_manager import WorkflowManager
from pflow.planning.catalogue import Kind
from pflow.planning.discovery import MOST_WORKFLOWS, Discovery, Findings

if TYPE_CHECKING:
    from pflow.core.document.issue import Issue
    from pflow.planning.writing.answer import Written
    from pflow.planning.writing.exchange import Settled
    from pflow.planning.writing.writer import Judge, Offer


class WorkflowDiscoveryNode(Node):
    """Find saved workflows that fit `user_input` in the home of `workflow_manager`; writes `discovery_result`.

    Each result has a name, a score from 0 to 1, why it matched, a description, inputs and outputs; the best is first.
    A manager of drafts finds drafts.
    """

    name = None

    def prep(self, shared: MutableMapping[str, Any]) -> tuple[str, WorkflowManager]:
        """What is asked for, and where to look; the library of `PFLOW_HOME` without a manager."""
        return str(shared["user_input"]), shared.get("workflow_manager") or WorkflowManager()

    def exec(self, prep_res: tuple[str, WorkflowManager]) -> Findings:
        """Search."""
        query, manager = prep_res
        kind: Kind = "draft" if manager.kind == "draft" else "workflow"
        return Discovery(manager.home).find(query, kinds=(kind,), limit=MOST_WORKFLOWS)

    def post(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: Findings) -> str:
        """Leave what was found for the next node."""
        shared["discovery_result"] = [hit.to_json() for hit in exec_res.hits]
        return "default"


class _AuthorNode(AsyncNode):
    """What nodes have in common that have a model write documents.

    They read `llm`, `node_types` (a name and what is said about it, each), `guide` (how documents are written) and
    `check`, which gives the issues of a document's text. They write `planned_document`, `plan_issues`, `plan_inputs`,
    `plan_reason` and `plan_rounds`, and end with the action `invalid` where issues are left.
    """

    async def prep_async(self, shared: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """All of the store: which parts are needed, the model's work shows."""
        return shared

    async def exec_async(self, prep_res: MutableMapping[str, Any]) -> Settled[Written]:
        """Have the document written."""
        raise NotImplementedError

    async def post_async(self, shared: MutableMapping[str, Any], prep_res: object, exec_res: Settled[Written]) -> str:
        """Leave the document for the next node."""
        answer = exec_res.answer
        shared["planned_document"] = answer.text if answer is not None else ""
        shared["plan_inputs"] = dict(answer.inputs) if answer is not None else {}
        shared["plan_reason"] = answer.why if answer is not None else ""
        shared["plan_issues"] = list(exec_res.issues)
        shared["plan_rounds"] = exec_res.mends
        return "invalid" if exec_res.issues else "default"


class PlanWriterNode(_AuthorNode):
    """Have a model write a document for `user_input`, and mend it at most three times."""

    name = None

    async def exec_async(self, prep_res: MutableMapping[str, Any]) -> Settled[Written]:
        """Have the document written."""
        # lazy: discovery needs no model
        from pflow.planning.writing.exchange import Exchange
        from pflow.planning.writing.writer import write_document

        return await write_document(
            Exchange(prep_res["llm"], report=_silent),
            str(prep_res["user_input"]),
            str(prep_res.get("flow_structure", "")),
            _offers(prep_res),
            str(prep_res.get("guide", "")),
            _judge(prep_res),
        )


class PlanRepairNode(_AuthorNode):
    """Have a model mend `document`, the text of one that failed at `failed_node` with `error`.

    `shapes` says what its data looks like; the data itself is no business of the model.
    """

    name = None

    async def exec_async(self, prep_res: MutableMapping[str, Any]) -> Settled[Written]:
        """Have the document mended."""
        # lazy: discovery needs no model
        from pflow.planning.writing.exchange import Exchange
        from pflow.planning.writing.writer import Failure, repair_document

        failed, error, shapes = (str(prep_res.get(name, "")) for name in ("failed_node", "error", "shapes"))
        return await repair_document(
            Exchange(prep_res["llm"], report=_silent),
            str(prep_res["document"]),
            Failure(step=failed, error=error, shapes=shapes),
            _offers(prep_res),
            str(prep_res.get("guide", "")),
            _judge(prep_res),
        )


def _silent(message: str) -> None:
    """Nobody looks."""


def _offers(shared: Mapping[str, Any]) -> Sequence[Offer]:
    from pflow.planning.writing.writer import Offer  # lazy: discovery needs no model

    return [Offer(name=str(name), about=str(about)) for name, about in dict(shared.get("node_types", {})).items()]


def _judge(shared: Mapping[str, Any]) -> Judge:
    check: Callable[[str], Sequence[Issue]] = shared.get("check") or (lambda text: ())
    return lambda written: tuple(check(written.text))
