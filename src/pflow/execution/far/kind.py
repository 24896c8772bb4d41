"""What is begun in a process: a run of its own, or one that the workers of a place drive."""

from __future__ import annotations

from pflow.execution.live_run import LiveRun
from pflow.execution.wiring import Wiring


def kind_of_run(wiring: Wiring) -> type[LiveRun]:
    """The class of what is begun here."""
    if not wiring.has_workers:
        return LiveRun
    from pflow.execution.far.far_run import FarRun  # lazy: most runs are driven where they are begun

    return FarRun
