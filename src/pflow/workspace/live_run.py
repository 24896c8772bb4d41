"""A run on the caller's event loop, checked and bound, that can be stopped while it goes."""

from __future__ import annotations

import asyncio

from pflow.engine.executor import Executor
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_execution import Work, conclude
from pflow.execution.workflow_source import Checked
from pflow.workspace.preparation import count_run

_BREATH = 0.005
"""Seconds until workers are started for the next run: whoever waits for this one's outcome has it by then."""


class LiveRun:
    """A run that is about to begin, or to go on."""

    def __init__(self, wiring: Wiring, executor: Executor, checked: Checked, run_id: str, work: Work) -> None:
        self.run_id = run_id
        self.plan = checked.ready()
        self._wiring = wiring
        self._executor = executor
        self._checked = checked
        self._work = work
        self._stopped = False

    async def finish(self) -> Outcome:
        """See it through to its end, or until it is stopped. One that was stopped before never begins."""
        try:
            if self._stopped:
                raise asyncio.CancelledError
            result = await self._work(self._executor)
        finally:
            self._executor.close()
        outcome = conclude(self._wiring, result, self.plan)
        notices = count_run(self._wiring.home, self._checked, outcome)
        spare = self._wiring.services.spare
        if spare is not None:
            asyncio.get_running_loop().call_later(_BREATH, spare.refill)
        return outcome._replace(notices=(*outcome.notices, *notices)) if notices else outcome

    def stop(self, *, graceful: bool = False, reason: str = "interrupted") -> None:
        """Stop it, resumable. `graceful` lets steps that run finish and be recorded. To be called on the run's loop."""
        self._stopped = True
        self._executor.stop(self.run_id, graceful=graceful, reason=reason)
