"""What those who drive runs for others ask of a home: what is due, what others left behind, and where it belongs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pflow.adapters.handover import reserve
from pflow.core.clock import now
from pflow.core.errors import PflowError, RunError
from pflow.core.event import HANDED_OVER, RunResumed, RunStarted, RunStopped
from pflow.core.frozen import Frozen
from pflow.engine.codec import decode_event
from pflow.engine.executor import HANDOVER_SECONDS
from pflow.engine.ports import RunInfo, RunQuery, Spread
from pflow.engine.value import ValueTable
from pflow.execution.conclusion import keep_house
from pflow.execution.live_run import LiveRun
from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.adapters.driving_process import Stop

_TAKING = ("RunStarted", "RunResumed", "RunStopped", "RunFailed", "RunCompleted", "RunCancelled")
"""Events that tell who has a run."""

_LEFT = ("waiting", HANDED_OVER)
"""Reasons of a stop after which others go on."""


class Taker(Frozen):
    """Who had a run last: in which directory, and whether drivers take it over if that process is gone."""

    directory: str = ""
    is_replaced: bool = False


class Driving:
    """The runs of a home as their drivers see them."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def detach(self, run: LiveRun) -> RunInfo:
        """Leave a run to others, who drive it whatever becomes of this process; how it stands."""
        self._wiring.dispatch.submit(run.run_id, run.record())
        return self.info(run.run_id)

    def take_up(self, run_id: str) -> None:
        """Have a run taken up to which something was delivered. If somebody drives, they see that by themselves."""
        self._wiring.dispatch.answer(run_id)

    def go_on(self, run_id: str) -> None:
        """Have a run driven again whose process is gone, if it has not ended."""
        if self.info(run_id).status not in ("completed", "cancelled"):
            self._wiring.dispatch.submit(run_id)

    def spread(self) -> Spread:
        """Has items of batches driven as runs of their own, by the workers of the place."""
        from pflow.execution.place.spread import PlaceSpread  # lazy: most runs are driven at home

        self._wiring.spread = PlaceSpread(self._wiring)  # what it cancels may have items elsewhere, too
        return self._wiring.spread

    def version(self) -> str:
        """Changes whenever any process has stored something about a run."""
        return self._wiring.journal.version()

    def info(self, run_id: str) -> RunInfo:
        """One run."""
        return self._wiring.journal.info(run_id)

    def due(self, until: float) -> Sequence[RunInfo]:
        """The runs that wait and can go on by then, oldest first."""
        return self._wiring.journal.runs(RunQuery(due=until, limit=None))[::-1]

    def left(self) -> list[RunInfo]:
        """The runs whose process is gone, oldest first."""
        running = self._wiring.journal.runs(RunQuery(status="running", limit=None))
        return [info for info in running[::-1] if not info.alive]

    def worked(self, run_id: str) -> float:
        """For how many seconds processes have worked on a run; waiting does not count."""
        return self._wiring.executor(None).history(run_id).worked.seconds

    def taker(self, run_id: str) -> Taker:
        """Who had a run last."""
        journal = self._wiring.journal
        values = ValueTable(self._wiring.redactor, lambda digest: journal.value(run_id, digest))
        directory, is_replaced = "", False
        for record in journal.read(run_id):
            if record.kind in _TAKING:
                event = decode_event(record, values)
                if isinstance(event, RunStarted | RunResumed):
                    directory = event.directory or directory
                is_replaced = (isinstance(event, RunResumed) and event.driven) or (
                    isinstance(event, RunStopped) and event.reason in _LEFT
                )
        return Taker(directory=directory, is_replaced=is_replaced)

    def enter_directory(self, run_id: str) -> None:
        """Make the directory of a run that of this process. Raises `RunError` if it is gone."""
        directory = self.taker(run_id).directory
        if directory:
            try:
                os.chdir(directory)
            except OSError as error:
                raise RunError(
                    f"the directory `{directory}` in which run `{run_id}` began cannot be entered: {error.strerror}"
                ) from error

    def start_process(self, run_id: str, ended: Callable[[], None]) -> Stop:
        """Start a process that drives a run, as `DrivingProcesses.start` does. Raises `ConflictError` if one has it."""
        reserve(self._wiring.journal, run_id, now() + HANDOVER_SECONDS)  # or several drivers would start one each
        return self._wiring.driving_processes.start(run_id, ended=ended)

    def keep_house(self) -> list[str]:
        """Delete what was kept long enough, if that was not done within a day; what to say about it."""
        try:
            return keep_house(self._wiring)
        except PflowError as error:
            return [f"old runs were not deleted: {error.message}"]
