"""Discovery as PocketFlow nodes, for compositions in Python; they are not node types of the registry."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pocketflow import Node

from pflow.core.library.workflow_manager import WorkflowManager
from pflow.planning.catalogue import Kind
from pflow.planning.discovery import Discovery, Findings

MOST_WORKFLOWS = 5
"""Workflows that are shown for a request; nobody reads more before writing one."""


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
