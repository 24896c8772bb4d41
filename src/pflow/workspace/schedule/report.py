"""What callers get to see of schedules: as lists show them, and what came of a tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack

from pflow.core.frozen import Frozen
from pflow.core.health import Check
from pflow.core.schedule.policy import Outcome
from pflow.core.schedule.schedule import Schedule

if TYPE_CHECKING:
    from pflow.workspace.schedule.adding import Terms

UNATTEMPTED: tuple[Outcome, ...] = ("lost", "refused")
"""What became of due times whose run should have begun and did not."""


class Last(Frozen):
    """What became of the last due time that came to something. `state` is that of its run, if it has one.

    `due` is when it was due, or, if a person asked for the run, when that was.
    """

    state: str
    due: float
    run_id: str = ""
    note: str = ""
    asked: bool = False


class ScheduleView(Frozen):
    """A schedule, when it starts next, and what came of the last time; `queued` counts what waits for a run to end.

    `problem` says why it cannot be worked out when it starts.
    """

    schedule: Schedule
    next_at: float | None = None
    problem: str = ""
    last: Last | None = None
    queued: int = 0

    def as_dict(self) -> dict[str, object]:
        """The schedule as JSON. Moments are written in its time zone; the search path is left out."""
        schedule, last = self.schedule, self.last
        return {
            "name": schedule.name,
            "workflow": schedule.workflow,
            "when": schedule.when,
            "zone": schedule.zone,
            "status": "active" if schedule.paused_at is None else "paused",
            **({"reason": schedule.reason} if schedule.reason else {}),
            "next": self.moment(self.next_at),
            **({"problem": self.problem} if self.problem else {}),
            "last": None
            if last is None
            else {
                "state": last.state,
                "due": self.moment(last.due),
                **({"run_id": last.run_id} if last.run_id else {}),
                **({"note": last.note} if last.note else {}),
                **({"asked": True} if last.asked else {}),
            },
            **({"queued": self.queued} if self.queued else {}),
            "inputs": dict(schedule.inputs),
            "overlap": schedule.overlap,
            "catch_up": schedule.catch_up,
            "window_seconds": schedule.window,
            **({"jitter_seconds": schedule.jitter} if schedule.jitter else {}),
            **({"timeout_seconds": schedule.timeout} if schedule.timeout is not None else {}),
            **({"on_failure": schedule.on_failure} if schedule.on_failure else {}),
            "cwd": schedule.cwd,
        }

    def moment(self, at: float | None) -> str | None:
        """A moment as JSON has it, by the clock of the schedule's time zone."""
        return None if at is None else self.schedule.local(at).isoformat(timespec="seconds")


class Added(Frozen):
    """A schedule that was added, and what is probably not as it should be."""

    view: ScheduleView
    warnings: tuple[str, ...] = ()


class ScheduleBook(Protocol):
    """Schedules by name: those of a home, which something has to look at, or of a place, which fires them itself."""

    def add(
        self,
        workflow: str,
        when: str,
        inputs: Mapping[str, object] | None = None,
        *,
        text: bool = False,
        **terms: Unpack[Terms],
    ) -> Added:
        """Have a saved workflow run at times."""

    def list(self) -> Sequence[ScheduleView]:
        """Every schedule that can be read."""

    def get(self, name: str) -> ScheduleView:
        """One schedule. Raises `NotFoundError`."""

    def pause(self, name: str, reason: str = "") -> ScheduleView:
        """Let a schedule start nothing until it is resumed. Raises `NotFoundError`."""

    def resume(self, name: str) -> ScheduleView:
        """Let a paused schedule go on with its next time. Raises `NotFoundError`."""

    def remove(self, name: str) -> None:
        """Forget a schedule; its runs stay. Raises `NotFoundError`."""

    def next(self, name: str, count: int = 5) -> Sequence[float]:
        """When a schedule is due next. Raises `NotFoundError`."""


class TickItem(Frozen):
    """One thing that a tick dealt with: a due time of a schedule, or, without a schedule, a run that had waited.

    `state` is what became of it, as in lists, or `paused` for a schedule that cannot run any more; `note` says why.
    """

    state: str
    schedule: str = ""
    due: float | None = None
    run_id: str = ""
    note: str = ""


class TickReport(Frozen):
    """Everything that a tick dealt with, in the order in which it was done with.

    `signalled` is the exit code of the signal that stopped it, if one did.
    """

    items: tuple[TickItem, ...] = ()
    signalled: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything that should have been attempted was; runs may have failed."""
        return not any(item.state in UNATTEMPTED for item in self.items)


class ScheduleCheck(Frozen):
    """Whether a schedule can run unattended, and what was looked at. The one without a name is about all of them."""

    schedule: str
    ok: bool
    checks: tuple[Check, ...]
