"""Every use case of pflow, for the layers above and for Python programs."""

from pflow.execution.check import Checked
from pflow.execution.outcome import Outcome
from pflow.execution.workflow_source import Workflow
from pflow.workspace.workspace import Workspace

__all__ = ["Checked", "Outcome", "Workflow", "Workspace"]
