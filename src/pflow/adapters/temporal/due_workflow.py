"""The workflow of a due time: it has the run of a schedule recorded, driven to its end, and told of if it failed.

It stays open for as long as its run goes on or waits, because that is how Temporal knows which runs overlap. Like the
workflow of a run it has to stay deterministic, and a change of what it does needs a new name.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError, is_cancelled_exception
from temporalio.workflow import ActivityCancellationType, ParentClosePolicy

from pflow.adapters.temporal.run_workflow import RUN

DUE = "pflow-due-1"
BEGIN = "pflow-begin-1"
END = "pflow-end-1"
LOOK = "pflow-look-1"
CANCEL = "pflow-cancel-1"

_SCHEDULED_AT = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")
_BEGINNING = timedelta(seconds=60)
"""How long recording a run may take; the database may be slow."""

_LOOK_SECONDS = 5.0
_LONGEST = timedelta(days=3650)


class Order(TypedDict, total=False):
    """What a due time has run: the schedule of a queue by its name, and the id of the run if somebody chose it.

    `window` is for how many seconds the run may fail to begin.
    """

    schedule: str
    lease: float
    window: float
    run_id: str


class Due(TypedDict, total=False):
    """A run that is to be recorded: for a moment at which a schedule was due, or after a run of it that failed."""

    schedule: str
    due: float
    run_id: str
    failed: str
    problem: str


@workflow.defn(name=DUE, sandboxed=False)
class DueWorkflow:
    """Sees one due time of a schedule through."""

    @workflow.run
    async def run(self, order: Order) -> str:
        """How its run ended; "" if there was none."""
        due = Due(schedule=order["schedule"], due=_due().timestamp(), run_id=order.get("run_id", ""))
        try:
            run_id = await _record(due, order["window"])
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            await _tell({**due, "failed": "", "problem": str(error.cause or error)}, order)
            return "refused"
        if not run_id:
            return ""
        status = await _see_through(run_id, order["lease"])
        if status not in ("completed", "cancelled"):
            await _tell({**due, "failed": run_id}, order)
        return status


def _due() -> datetime:
    """The moment at which the schedule was due, or, if a person asked for the run, when that was."""
    found = workflow.info().typed_search_attributes.get(_SCHEDULED_AT)
    return (found or workflow.now()).astimezone(UTC)


async def _record(due: Due, window: float) -> str:
    """Have the run recorded, whoever can do so; its id, or "" if there is nothing to run."""
    run_id: str = await workflow.execute_activity(
        BEGIN,
        due,
        start_to_close_timeout=_BEGINNING,
        schedule_to_close_timeout=timedelta(seconds=window),
        retry_policy=RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)),
        result_type=str,
    )
    return run_id


async def _tell(due: Due, order: Order) -> None:
    """Have the workflow for failures run, if the schedule has one; what becomes of that is its own affair."""
    with suppress(ActivityError):
        run_id = await _record(due, order["window"])
        if run_id:
            await _see_through(run_id, order["lease"])


async def _see_through(run_id: str, lease: float) -> str:
    """Have a run driven until it ends; how. If the due time is cancelled, so is the run, and its end is waited for."""
    ending = asyncio.ensure_future(_ended(run_id, lease))
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        await _end(run_id, lease)
        return await asyncio.shield(ending)


async def _end(run_id: str, lease: float) -> None:
    """Have a worker cancel a run, and see the steps through that come last."""
    await workflow.execute_activity(
        END,
        run_id,
        start_to_close_timeout=_LONGEST,
        heartbeat_timeout=timedelta(seconds=lease),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_interval=timedelta(seconds=5)),
        cancellation_type=ActivityCancellationType.ABANDON,
    )


@workflow.defn(name=CANCEL, sandboxed=False)
class CancelWorkflow:
    """Has a run that waits cancelled where it can be driven."""

    @workflow.run
    async def run(self, run_id: str, lease: float) -> None:
        """See it through."""
        await _end(run_id, lease)


async def _ended(run_id: str, lease: float) -> str:
    try:
        ended: str = await workflow.execute_child_workflow(
            RUN,
            args=[lease, 1],
            id=run_id,
            parent_close_policy=ParentClosePolicy.ABANDON,
            cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
            task_timeout=timedelta(seconds=min(lease, 10.0)),
            result_type=str,
        )
        return ended
    except WorkflowAlreadyStartedError:
        pass  # a worker that found the run has started its workflow
    while True:
        status: str = await workflow.execute_activity(LOOK, run_id, start_to_close_timeout=_BEGINNING, result_type=str)
        if status:
            return status
        await asyncio.sleep(_LOOK_SECONDS)
