"""pflow: where an agent's solved task becomes a program. Importing this package loads nothing else.

These names, and the modules `pflow.errors`, `pflow.events` and `pflow.testing`, are what programs build on;
docs/python.md says what each is for. Everything else may change.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import would cost more than everything here

if TYPE_CHECKING:
    from pflow.core.document.issue import Issue
    from pflow.core.errors import PflowError, StepError
    from pflow.core.file.home import Home
    from pflow.core.flow_safe import flow_safe
    from pflow.core.node_function import node
    from pflow.engine.asking.form import Reply
    from pflow.engine.context import current_step
    from pflow.engine.store import NodeAwareSharedStore
    from pflow.execution.asking.answer import Waiting
    from pflow.execution.check import Checked
    from pflow.execution.live_run import LiveRun
    from pflow.execution.null_output import NullOutput
    from pflow.execution.outcome import Outcome
    from pflow.execution.workflow_execution import execute_workflow
    from pflow.workspace.loaded_workflow import LoadedWorkflow, load
    from pflow.workspace.workspace import Workspace

__version__ = "0.2.0.dev0"

__all__ = [
    "Checked",
    "Home",
    "Issue",
    "LiveRun",
    "LoadedWorkflow",
    "NodeAwareSharedStore",
    "NullOutput",
    "Outcome",
    "PflowError",
    "Reply",
    "StepError",
    "Waiting",
    "Workspace",
    "__version__",
    "current_step",
    "execute_workflow",
    "flow_safe",
    "load",
    "node",
]

_HOMES = {
    "Checked": "pflow.execution.check",
    "Home": "pflow.core.file.home",
    "Issue": "pflow.core.document.issue",
    "LiveRun": "pflow.execution.live_run",
    "LoadedWorkflow": "pflow.workspace.loaded_workflow",
    "NodeAwareSharedStore": "pflow.engine.store",
    "NullOutput": "pflow.execution.null_output",
    "Outcome": "pflow.execution.outcome",
    "PflowError": "pflow.core.errors",
    "Reply": "pflow.engine.asking.form",
    "StepError": "pflow.core.errors",
    "Waiting": "pflow.execution.asking.answer",
    "Workspace": "pflow.workspace.workspace",
    "current_step": "pflow.engine.context",
    "execute_workflow": "pflow.execution.workflow_execution",
    "flow_safe": "pflow.core.flow_safe",
    "load": "pflow.workspace.loaded_workflow",
    "node": "pflow.core.node_function",
}


def __getattr__(name: str) -> object:
    """The public names, imported when they are first used: `import pflow` stays as light as it is."""
    if name not in _HOMES:
        raise AttributeError(f"module `pflow` has no attribute `{name}`")
    import importlib  # lazy: only for programs that use the library

    found: object = getattr(importlib.import_module(_HOMES[name]), name)
    return found
