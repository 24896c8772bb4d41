"""Every use case of pflow, for the layers above and for Python programs, with the types of what they take and give."""

from pflow.engine.binding import bind_inputs, coerce_text
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer, RunInfo
from pflow.execution.check import Checked
from pflow.execution.outcome import Outcome
from pflow.execution.workflow_source import Workflow
from pflow.registry.entry import Entry
from pflow.workspace.workspace import Workspace

__all__ = [
    "Checked",
    "Entry",
    "Observer",
    "Outcome",
    "Plan",
    "RunInfo",
    "Workflow",
    "Workspace",
    "bind_inputs",
    "coerce_text",
]
