"""The part of a workspace that knows places, where many machines keep runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pflow.core.event import Cause
from pflow.engine.codec import cause_of
from pflow.execution.wiring import Wiring

if TYPE_CHECKING:
    from pflow.engine.ports import Observer
    from pflow.execution.check import Checked
    from pflow.execution.workflow_source import Workflow
    from pflow.workspace.place.journal import PlaceJournal
    from pflow.workspace.place.schedules import PlaceSchedules
    from pflow.workspace.place.workers import PlaceWorkers


class Placing:
    """See `pflow.workspace.workspace.Workspace`."""

    _wiring: Wiring
    _observer: Observer | None

    if TYPE_CHECKING:

        def check(self, workflow: Workflow) -> Checked: ...

    def places(self) -> list[str]:
        """The names of the places that the settings describe."""
        return sorted(self._wiring.settings.family("on"))

    def causes(self, run_ids: Iterable[str]) -> dict[str, Cause]:
        """Why each of these runs of a place exists, and in which queue it is."""
        journal = self._wiring.journal
        return {run_id: cause_of(journal.read_sound(run_id, 1)) for run_id in run_ids}

    def scheduled(self, run_ids: Iterable[str]) -> dict[str, str]:
        """Which of these runs a schedule started, with its name."""
        if self._wiring.place is not None:
            return {run_id: cause.schedule for run_id, cause in self.causes(run_ids).items() if cause.schedule}
        return {run_id: tick.schedule for run_id, tick in self._wiring.schedules.started(run_ids).items()}

    def parents(self, run_ids: Iterable[str]) -> dict[str, str]:
        """Which of these runs are the work of an item of another run, such as `RUN/deploy[3]`."""
        if self._wiring.place is None:
            return {}
        return {run_id: cause.parent for run_id, cause in self.causes(run_ids).items() if cause.parent}

    @property
    def place_journal(self) -> PlaceJournal:
        """The journal of the place that this workspace is opened `on`: its tables, and runs to copy there."""
        from pflow.workspace.place.journal import PlaceJournal  # lazy: most runs are kept at home

        return PlaceJournal(self._wiring)

    @property
    def place_workers(self) -> PlaceWorkers:
        """The workers of the place that this workspace is opened `on`."""
        self._wiring.roster  # noqa: B018 - before what follows: it says what is missing
        from pflow.workspace.place.workers import PlaceWorkers  # lazy: most runs are driven at home

        return PlaceWorkers(self._wiring)

    @property
    def place_schedules(self) -> PlaceSchedules:
        """The schedules of the place that this workspace is opened `on`, which fires them itself."""
        from pflow.execution.place.queue import open_calendar  # lazy: most runs are not scheduled

        timetable, calendar = open_calendar(self._wiring)
        from pflow.workspace.place.schedules import PlaceSchedules  # lazy: most runs are not scheduled

        return PlaceSchedules(self._wiring, timetable, calendar, self.check, self._observer)
