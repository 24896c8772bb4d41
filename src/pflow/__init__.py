"""pflow: where an agent's solved task becomes a program. Importing this package loads nothing else."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import would cost more than everything here

if TYPE_CHECKING:
    from pflow.core.flow_safe import flow_safe
    from pflow.engine.store import NodeAwareSharedStore
    from pflow.workspace.workspace import Workspace

__version__ = "0.1.0"

__all__ = ["NodeAwareSharedStore", "Workspace", "__version__", "flow_safe"]

_HOMES = {
    "NodeAwareSharedStore": "pflow.engine.store",
    "Workspace": "pflow.workspace.workspace",
    "flow_safe": "pflow.core.flow_safe",
}


def __getattr__(name: str) -> object:
    """The public names, imported when they are first used: `import pflow` stays as light as it is."""
    if name not in _HOMES:
        raise AttributeError(f"module `pflow` has no attribute `{name}`")
    import importlib  # lazy: only for whoever uses the library

    found: object = getattr(importlib.import_module(_HOMES[name]), name)
    return found
