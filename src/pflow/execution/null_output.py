"""An observer that shows nothing, for agents and tests."""

from __future__ import annotations

from pflow.core.event import Event


class NullOutput:
    """Takes every event and report, and keeps silent."""

    def notify(self, run_id: str, event: Event) -> None:
        """Nothing."""

    def report(self, run_id: str, step: str, message: str) -> None:
        """Nothing."""
