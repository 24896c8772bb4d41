"""An observer that tells once that a run was taken up, and is silent after that."""

from __future__ import annotations

from collections.abc import Callable

from pflow.core.event import Event, RunResumed
from pflow.execution.null_output import NullOutput


class Begun(NullOutput):
    """Calls `tell` when a run goes on. That it is taken up is the first thing that happens."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = tell

    def notify(self, run_id: str, event: Event) -> None:
        """An event took effect."""
        if isinstance(event, RunResumed):
            self._tell()
