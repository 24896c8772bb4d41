"""What is begun in a process: a run of its own, or one that the workers of a place drive, and of which queue."""

from __future__ import annotations

from pflow.core.errors import UsageError
from pflow.execution.live_run import LiveRun
from pflow.execution.wiring import Wiring


def kind_of_run(wiring: Wiring) -> type[LiveRun]:
    """The class of what is begun here."""
    if not wiring.has_workers:
        return LiveRun
    from pflow.execution.far.far_run import FarRun  # lazy: most runs are driven where they are begun

    return FarRun


def queue_of_run(wiring: Wiring, queue: str = "", before: str = "") -> str:
    """The queue of a run that is begun here; "" without workers.

    It is the one that is named, else that of the run `before` from which this one is made, else that of the place.

    Raises `UsageError` for one that is named where no place is, or that holds a credential: it is recorded in clear.
    """
    place = wiring.place
    if place is None or place.temporal is None:
        if queue:
            raise UsageError("only a place has queues: say at which one, with `--on PLACE`")
        return ""
    if queue and wiring.redactor.text(queue) != queue:
        raise UsageError("the name of the queue holds a credential, and names of queues are recorded in clear")
    return queue or before or place.queue
