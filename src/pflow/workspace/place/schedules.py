"""The schedules of a place as use cases. Temporal fires them; what they run is recorded beside the journal.

The document of a schedule is the one that its workflow had when it was added: workers need not have it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Unpack

import orjson

from pflow.adapters.temporal.calendar import Calendar
from pflow.core.clock import now
from pflow.core.errors import CorruptError, ExistsError, NotFoundError, PflowError, UsageError
from pflow.core.event import Cause
from pflow.core.schedule.abroad import check_abroad
from pflow.core.schedule.name import no_such_schedule
from pflow.core.schedule.schedule import Schedule, decode_schedule
from pflow.engine.executor import new_run_id
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer, Timetable
from pflow.execution.begin import begin_run
from pflow.execution.check import Checked, check_source
from pflow.execution.far.far_run import FarRun
from pflow.execution.place.able import check_able
from pflow.execution.trace import read_trace
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import recorded_source
from pflow.workspace.schedule.adding import Terms, failure_inputs, make_schedule
from pflow.workspace.schedule.report import Added, Last, ScheduleView

if TYPE_CHECKING:
    from pflow.adapters.temporal.due_workflow import Due

_MOST_NEXT = 1000
_LOST = "Temporal does not hold it; remove it, and add it again"


class PlaceSchedules:
    """The schedules of the place that a workspace was opened `on`, in its queue."""

    def __init__(
        self,
        wiring: Wiring,
        timetable: Timetable,
        calendar: Calendar,
        check: Callable[[str], Checked],
        observer: Observer | None = None,
    ) -> None:
        self._wiring = wiring
        self._timetable = timetable
        self._calendar = calendar
        self._check = check
        self._observer = observer

    def add(
        self,
        workflow: str,
        when: str,
        inputs: Mapping[str, object] | None = None,
        *,
        text: bool = False,
        **terms: Unpack[Terms],
    ) -> Added:
        """Have a saved workflow run at times, as it is now.

        Raises `UsageError` for what Temporal would do otherwise, and `NoWorkerError` if no worker could run it.
        """
        terms = {**terms, "catch_up": terms.get("catch_up") or "none"}
        check = self._check
        schedule, warnings = make_schedule(self._wiring, check, workflow, when, inputs or {}, text=text, **terms)
        schedule = schedule._replace(cwd="", path="")  # runs have those of their worker
        check_abroad(schedule)
        plans = {"document": check(schedule.workflow).runnable()}
        if schedule.on_failure:
            plans["on_failure"] = check(schedule.on_failure).runnable()
        for plan in plans.values():
            _check_plain(plan)
            check_able(self._wiring, plan)
        self._calendar.look(schedule.name)  # raises, before anything is stored, if nobody could hold it
        stored = {"schedule": schedule.as_dict(), **{name: plan.raw for name, plan in plans.items()}}
        self._timetable.add(schedule.name, orjson.dumps(stored))
        try:
            self._calendar.hold(schedule)
        except PflowError:
            self._timetable.remove(schedule.name)
            raise
        return Added(view=self._view(schedule), warnings=tuple(warnings))

    def list(self) -> Sequence[ScheduleView]:
        """Every schedule that can be read."""
        return [self._view(_Stored(data).schedule) for data in self._timetable.all().values()]

    def get(self, name: str) -> ScheduleView:
        """One schedule. Raises `NotFoundError`."""
        return self._view(self._find(name).schedule)

    def pause(self, name: str, reason: str = "") -> ScheduleView:
        """Let a schedule start nothing until it is resumed. Raises `NotFoundError`."""
        self._find(name)
        self._check_held(name, self._calendar.pause(name, reason))
        return self.get(name)

    def resume(self, name: str) -> ScheduleView:
        """Let a paused schedule go on with its next time; what was due meanwhile is not made up for."""
        self._find(name)
        self._check_held(name, self._calendar.resume(name))
        return self.get(name)

    def remove(self, name: str) -> None:
        """Forget a schedule; its runs stay, and one that goes on goes on. Raises `NotFoundError`."""
        self._find(name)
        self._calendar.drop(name)
        self._timetable.remove(name)

    def next(self, name: str, count: int = 5) -> Sequence[float]:
        """When a schedule is due next, without jitter and as if it were not paused. Raises `NotFoundError`."""
        schedule = self._find(name).schedule
        return [*islice(schedule.timing.after(now()), min(count, _MOST_NEXT))]

    def begin_now(self, name: str) -> FarRun:
        """A run of a schedule for now, to be seen through here; it does not count as one that others overlap with."""
        stored = self._find(name)
        schedule = stored.schedule
        run_id = new_run_id()
        run = begin_run(
            self._wiring,
            self._checked(stored, schedule.workflow, "document"),
            schedule.inputs,
            observer=self._observer,
            run_id=run_id,
            cause=Cause(schedule=name, time_limit=schedule.timeout),
        )
        assert isinstance(run, FarRun)
        run.have_driven = lambda: self._calendar.fire(schedule, run_id)
        return run

    # For workers

    def begin(self, due: Due) -> str:
        """Record the run of a due time, once; its id. "" if the schedule is gone, or has nothing to run then."""
        data = self._timetable.all().get(due["schedule"])
        if data is None:
            return ""
        stored = _Stored(data)
        schedule = stored.schedule
        if "failed" not in due:
            run_id = due.get("run_id") or _run_id(schedule, due["due"])
            inputs: Mapping[str, object] = schedule.inputs
            checked = self._checked(stored, schedule.workflow, "document")
            cause = Cause(schedule=schedule.name, time_limit=schedule.timeout)
        elif schedule.on_failure:
            run_id = _run_id(schedule, due["due"], "failure", due["failed"])
            checked = self._checked(stored, schedule.on_failure, "on_failure")
            inputs = failure_inputs(checked.runnable(), due["failed"], schedule.workflow, self._error(due))
            cause = Cause(schedule=schedule.name)
        else:
            return ""
        try:
            begin_run(self._wiring, checked, inputs, run_id=run_id, cause=cause).record()
        except ExistsError:
            pass  # it was recorded before, perhaps by a worker that is gone
        return run_id

    def _error(self, due: Due) -> Mapping[str, object]:
        if not due["failed"]:
            return {"type": "refused", "message": due.get("problem", "")}
        shown = read_trace(self._wiring.journal, due["failed"])
        error = shown.get("error")
        if isinstance(error, Mapping):
            return error
        return {"type": str(shown.get("status")), "message": f"the run is {shown.get('status')}"}

    def _checked(self, stored: _Stored, workflow: str, which: str) -> Checked:
        wiring = self._wiring
        source = recorded_source(stored.fields.get(which), workflow, wiring.home, wiring.projects)
        return check_source(wiring, source._replace(library=workflow), recorded=True)

    # Looking

    def _find(self, name: str) -> _Stored:
        stored = self._timetable.all()
        if name not in stored:
            raise no_such_schedule(name, stored)
        return _Stored(stored[name])

    def _check_held(self, name: str, held: bool) -> None:
        if not held:
            raise NotFoundError(f"schedule `{name}` is no longer there: {_LOST}")

    def _view(self, schedule: Schedule) -> ScheduleView:
        standing = self._calendar.look(schedule.name)
        if standing is None:
            return ScheduleView(schedule=schedule, problem=_LOST)
        if standing.paused:
            schedule = schedule._replace(paused_at=now(), reason=standing.reason)
        return ScheduleView(schedule=schedule, next_at=standing.next_at, last=self._last(schedule, standing.dues))

    def _last(self, schedule: Schedule, dues: Sequence[float]) -> Last | None:
        if not dues:
            return None
        due = max(dues)
        run_id = _run_id(schedule, due)
        try:
            return Last(state=self._wiring.journal.info(run_id).state, due=due, run_id=run_id)
        except NotFoundError:
            return Last(state="starting", due=due, note="no worker has begun its run yet")


class _Stored:
    """A schedule as it is stored, with the documents of its workflows."""

    def __init__(self, data: bytes) -> None:
        try:
            self.fields: dict[str, object] = orjson.loads(data)
            self.schedule = decode_schedule(orjson.dumps(self.fields["schedule"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptError(f"a stored schedule cannot be read: {error}") from error


def _check_plain(plan: Plan) -> None:
    """Raise `UsageError` for a document that holds credentials: those of schedules are stored in clear."""
    if plan.credentials.literals:
        raise UsageError(
            f"the document `{plan.name}` holds a credential, and documents of schedules are stored in clear",
            suggestions=["declare an input with `secret: true`, and store its value where the workers are"],
        )


def _run_id(schedule: Schedule, due: float, *words: str) -> str:
    """The id of the run of a due time: the same whoever records it, and whenever."""
    seed = "\0".join([schedule.name, repr(schedule.added_at), repr(round(due)), *words])
    digest = blake2b(seed.encode(), digest_size=8, person=b"pflow-due").hexdigest()
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime(round(due))) + digest
