"""The `workflow` argument of a call. Names, paths and documents are told apart where workflows are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pflow.core.errors import UsageError
from pflow.workspace import Workflow


def read_workflow(arguments: Mapping[str, Any], *, purpose: str, advice: str) -> Workflow:
    """The workflow that the arguments hold; raises `UsageError` when there is none to `purpose`."""
    workflow: Workflow | None = arguments.get("workflow", arguments.get("workflow_file"))
    if workflow is None:
        raise UsageError(f"there is nothing to {purpose}: `workflow` is missing", suggestions=[advice])
    return workflow
