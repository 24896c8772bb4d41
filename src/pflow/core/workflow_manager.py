"""`WorkflowManager` under the name that the product's documents fix; it lives in `core/library`."""

from pflow.core.library.workflow_manager import WorkflowManager

__all__ = ["WorkflowManager"]
