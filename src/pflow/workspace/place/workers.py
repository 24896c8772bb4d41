"""The workers of a place, for those who look, and for each of them to tell that it is there."""

from __future__ import annotations

from pflow import __version__
from pflow.adapters.postgres.roster import WorkerRow
from pflow.core.frozen import Frozen
from pflow.execution.place.able import digest_kinds, kinds_of, seal_of
from pflow.execution.wiring import Wiring


class PlaceWorker(Frozen):
    """A worker of a place. `registry` stands for its node types and tools; `as_here`: they are those of this home.

    One that `is_gone` was not heard of for some leases, and has not said that it ends.
    """

    name: str
    version: str
    queue: str
    slots: int
    registry: str
    as_here: bool
    started_at: float
    beat_seconds: float
    is_gone: bool


class PlaceWorkers:
    """The workers of the place that a workspace was opened `on`."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def list(self) -> list[PlaceWorker]:
        """All of them, by queue, the oldest first."""
        rows = self._wiring.roster.read()
        here = digest_kinds(kinds_of(self._wiring.registry)) if rows else ""
        return [
            PlaceWorker(
                name=row.name,
                version=row.version,
                queue=row.queue,
                slots=row.slots,
                registry=row.digest,
                as_here=row.digest == here,
                started_at=row.started_at,
                beat_seconds=round(row.beat_seconds, 1),
                is_gone=row.is_gone,
            )
            for row in rows
        ]

    def beat(self, worker: str, *, name: str, queue: str, slots: int, lease_seconds: float) -> None:
        """Say that a worker of this home is there, with what it has by now."""
        kinds = kinds_of(self._wiring.registry)
        self._wiring.roster.beat(
            WorkerRow(
                worker=worker,
                name=name,
                version=__version__,
                queue=queue,
                slots=slots,
                lease_seconds=lease_seconds,
                digest=digest_kinds(kinds),
                kinds=kinds,
                variables=sorted(self._wiring.settings.step_variables()),
                seal=seal_of(self._wiring),
            )
        )

    def leave(self, worker: str) -> None:
        """Say that a worker takes no more runs."""
        self._wiring.roster.leave(worker)
