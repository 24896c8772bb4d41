"""Every use case of pflow, for the layers above and for Python programs."""

from pflow.workspace.workspace import Checked, Workspace

__all__ = ["Checked", "Workspace"]
