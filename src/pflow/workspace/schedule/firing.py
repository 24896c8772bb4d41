"""Sees one run of a schedule through, in this process: as claimed by a tick, or because a person asks for it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from pflow.core.clock import now
from pflow.core.duration import show_duration
from pflow.core.errors import ConflictError, DocumentError, InputError, NotFoundError, PflowError
from pflow.core.frozen import Frozen
from pflow.core.schedule.policy import OUTCOMES, Outcome
from pflow.core.schedule.schedule import Schedule
from pflow.engine.executor import new_run_id
from pflow.engine.ports import Schedules, Tick
from pflow.execution.live_run import SIGNALS, LiveRun
from pflow.execution.outcome import Outcome as RunOutcome
from pflow.workspace.schedule.adding import failure_inputs

if TYPE_CHECKING:
    from pflow.workspace.workspace import Workspace

_FOR_GOOD = (NotFoundError, InputError, DocumentError)
"""Errors that the next due time would meet again: the workflow is gone, is not valid, or takes other inputs."""

_LEFT = "it was stopped by a signal; the next tick or the daemon goes on with it"

_NUDGE_SECONDS = 0.001


class Fired(Frozen):
    """How a run of a schedule ended; `problem` says what went wrong with the workflow that is run on a failure.

    There is no outcome if a failure was told of a run that others have seen through.
    """

    outcome: RunOutcome | None = None
    problem: str = ""


class Firing:
    """One schedule, about to run in this process, which is where the schedule says. `pause` takes a reason."""

    def __init__(
        self, workspace: Workspace, schedules: Schedules, schedule: Schedule, pause: Callable[[str], None]
    ) -> None:
        self._workspace = workspace
        self._schedules = schedules
        self._schedule = schedule
        self._pause = pause
        self._is_late = False
        self._is_left = False

    def run(self, claimed: str = "") -> Fired:
        """Run it now, or, as the run that was `claimed` for a due time, begin or go on.

        Raises `PflowError` if that cannot begin, and `ConflictError` if the claim is not there any more.
        """
        with asyncio.Runner() as runner:
            return runner.run(self._run(claimed))

    async def _run(self, claimed: str) -> Fired:
        tick = self._take(claimed) if claimed else self._ask()
        state = self._state(tick.run_id)
        goes_on = state == "waiting"
        try:
            if state is not None and not goes_on:
                return await self._tell(tick, state)
            return await self._see_through(tick, goes_on, leaves=bool(claimed))
        except ConflictError as error:
            self._settle(tick, "waiting", error.message, "")  # somebody else sees the run through
            raise
        except PflowError as error:
            problem = await self._on_failure(tick.run_id if goes_on else "", error.as_dict())
            self._settle(tick, "failed" if goes_on else "refused", error.message, problem)
            if isinstance(error, _FOR_GOOD) and not tick.asked:
                changed = "the workflow now takes other inputs: " if isinstance(error, InputError) else ""
                self._pause(f"{changed}{error.message}")
            raise
        finally:
            await self._workspace.disconnect()

    async def _see_through(self, tick: Tick, goes_on: bool, *, leaves: bool) -> Fired:
        workspace, schedule = self._workspace, self._schedule
        if goes_on:
            live = workspace.begin_resume(tick.run_id)
        else:
            live = workspace.begin(schedule.workflow, schedule.inputs, run_id=tick.run_id)
        with self._limits(live, self._worked(tick.run_id) if goes_on else 0.0, leaves=leaves):
            outcome = await live.finish()
        if outcome.status == "stopped" and self._is_left:
            self._settle(tick, "waiting", _LEFT, "")
            return Fired(outcome=outcome)
        error = outcome.error or {}
        problem = ""
        if outcome.status == "failed" or self._is_late:
            problem = await self._on_failure(tick.run_id, error)
        self._settle(
            tick, _outcome(outcome.status), "" if outcome.success else str(error.get("message") or ""), problem
        )
        return Fired(outcome=outcome, problem=problem)

    def _worked(self, run_id: str) -> float:
        """Seconds that processes have worked on a run that goes on."""
        return self._workspace.driving.worked(run_id)

    async def _tell(self, tick: Tick, state: str) -> Fired:
        """Run the workflow for failures after a run that nobody told of: others saw it through, or it was cut off."""
        if state == "running":
            raise ConflictError(f"run `{tick.run_id}` is already running")
        error = self._workspace.show_run(tick.run_id).get("error")
        told = error if isinstance(error, Mapping) else {"type": state, "message": f"the run is {state}"}
        problem = await self._on_failure(tick.run_id, told)
        self._settle(tick, _outcome(state), str(told.get("message") or ""), problem)
        return Fired(problem=problem)

    def _state(self, run_id: str) -> str | None:
        try:
            return self._workspace.driving.info(run_id).state
        except NotFoundError:
            return None

    def _take(self, run_id: str) -> Tick:
        """The due time that a run was claimed for, from now on in the hands of this process."""
        tick = self._schedules.started([run_id]).get(run_id)
        if tick is None or tick.schedule != self._schedule.name:
            raise NotFoundError(f"no due time of schedule `{self._schedule.name}` has the run `{run_id}`")
        mine = tick._replace(outcome="claimed", at=now())
        if tick.outcome not in ("claimed", "waiting") or not self._schedules.put(mine, tick):
            raise ConflictError(f"run `{run_id}` is no longer to be started: its due time is {tick.outcome}")
        return mine

    def _ask(self) -> Tick:
        """A due time of a person's own; between whole seconds, where no other due time is."""
        at = now()
        due = at if at % 1 else at + _NUDGE_SECONDS
        while True:
            tick = Tick(
                schedule=self._schedule.name, due=due, outcome="claimed", at=at, run_id=new_run_id(), asked=True
            )
            if self._schedules.put(tick):
                return tick
            due += _NUDGE_SECONDS

    def _settle(self, tick: Tick, outcome: Outcome, note: str, problem: str) -> None:
        """Record what became of a due time of ours, unless somebody has taken it over."""
        mine = self._schedules.started([tick.run_id]).get(tick.run_id)
        if mine is not None and mine.outcome == "claimed":
            said = "; ".join(filter(None, (note, problem)))
            self._schedules.put(mine._replace(outcome=outcome, at=now(), note=said), mine)

    async def _on_failure(self, run_id: str, error: Mapping[str, object]) -> str:
        """Run the workflow for failures, if the schedule has one; what went wrong with that, if anything."""
        name = self._schedule.on_failure
        if not name:
            return ""
        try:
            checked = self._workspace.check(name)
            given = failure_inputs(checked.runnable(), run_id, self._schedule.workflow, error)
            outcome = await self._workspace.begin(checked, given).finish()
        except PflowError as failure:
            return f"`{name}`, which runs on a failure, cannot run: {failure.message}"
        if outcome.status in ("completed", "waiting"):
            return ""
        return f"`{name}`, which runs on a failure, is {outcome.status} itself: {(outcome.error or {}).get('message')}"

    @contextmanager
    def _limits(self, live: LiveRun, worked: float, *, leaves: bool) -> Iterator[None]:
        """Stop a run, resumable, when its time is over or at a signal.

        With `leaves`, the next tick goes on with a run that was stopped by a signal. At SIGTERM the steps that are
        running are finished first, however often it comes: whoever ends a service may send it to each of its processes
        and to all.
        """
        loop = asyncio.get_running_loop()
        for name in SIGNALS:
            stop = partial(self._leave, live, graceful=name == "SIGTERM") if leaves else live.stop
            loop.add_signal_handler(getattr(signal, name), stop)
        seconds = self._schedule.timeout
        timer = None if seconds is None else loop.call_later(max(seconds - worked, 0.0), self._end, live, seconds)
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
            for name in SIGNALS:
                loop.remove_signal_handler(getattr(signal, name))

    def _leave(self, live: LiveRun, *, graceful: bool) -> None:
        if not self._is_late:
            self._is_left = True
            live.stop(graceful=graceful, hand_over=True)

    def _end(self, live: LiveRun, seconds: float) -> None:
        self._is_late, self._is_left = True, False
        live.stop(reason=f"it took longer than {show_duration(seconds)}, the timeout of its schedule")


def _outcome(state: str) -> Outcome:
    """How a run is, as what became of its due time."""
    return next((one for one in OUTCOMES if one == state), "damaged")
