"""Items of batches as runs of their own at a place: recorded by the worker of the batch, driven by any."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from pflow.core.errors import ExistsError, UsageError
from pflow.core.event import IN_DOUBT, Cause
from pflow.engine.codec import decode_event
from pflow.engine.plan import Plan
from pflow.engine.ports import ALL_RECORDED, RunEnd
from pflow.engine.value import ValueTable
from pflow.execution.asking.cancel import cancel_run
from pflow.execution.begin import begin_resume, begin_run
from pflow.execution.check import check_source
from pflow.execution.far.ended import Ending
from pflow.execution.wiring import Wiring
from pflow.execution.workflow_source import recorded_source

_GOING_ON = ("running", "waiting")


class PlaceSpread:
    """See `pflow.engine.ports.Spread`."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def begin(self, run_id: str, plan: Plan, inputs: Mapping[str, object], parent: str) -> None:
        """Record the run, if nobody has, and have it driven, if it has not ended."""
        wiring = self._wiring
        source = recorded_source(plan.raw, plan.name, wiring.home, wiring.projects)
        source = source._replace(state_scope=plan.state_scope)
        checked = check_source(wiring, source, recorded=True)
        unrecorded = ALL_RECORDED
        with suppress(ExistsError):
            unrecorded = begin_run(wiring, checked, inputs, run_id=run_id, cause=Cause(parent=parent)).record()
        if wiring.journal.info(run_id).status in _GOING_ON:
            wiring.dispatch.submit(run_id, unrecorded)

    def go_on(self, run_id: str) -> None:
        """Record that the run goes on, and have it driven."""
        if self._wiring.journal.info(run_id).status in ("failed", "stopped"):
            self._wiring.dispatch.submit(run_id, begin_resume(self._wiring, run_id, {}).record())

    def ended(self, run_id: str) -> RunEnd | None:
        """How the run has ended."""
        journal = self._wiring.journal
        status = journal.info(run_id).status
        if status in _GOING_ON:
            return None
        values = ValueTable(self._wiring.redactor, lambda digest: journal.value(run_id, digest))
        ending = Ending(run_id)
        for record in journal.read(run_id):
            ending.take(decode_event(record, values))
        if ending.is_doubtful:
            message = "steps of it are in doubt; settle them, and resume this run"
            return RunEnd(status=status, error={"type": IN_DOUBT, "message": message})
        result = ending.result
        if result is None:
            return RunEnd(status=status)
        return RunEnd(status=result.status, outputs=result.outputs, error=result.error or {})

    def cancel(self, run_id: str) -> None:
        """Cancel the run, unless it has ended meanwhile."""
        with suppress(UsageError):
            cancel_run(self._wiring, run_id, lambda _: None)
