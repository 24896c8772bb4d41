"""The dispatch of many machines: a workflow of Temporal for each run decides when and where it is driven."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.service import RPCError, RPCStatusCode

from pflow.adapters.temporal.connection import Connection, Queue
from pflow.adapters.temporal.due_workflow import CANCEL
from pflow.adapters.temporal.run_workflow import RUN, WAKE
from pflow.core.advice import Advice
from pflow.core.errors import RunError, StorageError
from pflow.engine.codec import cause_of
from pflow.engine.ports import ALL_RECORDED, Journal, Unrecorded

_FIRST_TURN = 1

_LONGEST_TASK_SECONDS = 10.0
"""What Temporal waits for a workflow to decide: milliseconds, but a worker that dies meanwhile delays a run by it."""


class TemporalDispatch:
    """See `pflow.engine.ports.Dispatch`. Nothing but the run's id passes Temporal: all else is in the journal."""

    def __init__(self, connection: Connection, journal: Journal) -> None:
        self.connection = connection
        self._journal = journal

    def submit(self, run_id: str, unrecorded: Unrecorded = ALL_RECORDED) -> None:
        """Start the workflow of the run, or wake it."""
        refuse_secrets(unrecorded.inputs)
        queue = self._queue_of(run_id)
        try:
            self.connection.call(self._start(run_id, queue))
        except StorageError as error:
            raise _recorded(run_id, error) from error

    def answer(self, run_id: str) -> None:
        """Wake the run's workflow; one that Temporal has lost is started again."""
        if self._journal.info(run_id).status == "waiting":
            self.connection.call(self._start(run_id, self._queue_of(run_id)))

    def cancel(self, run_id: str) -> None:
        """Wake a workflow that waits, so that it sees the end of its run. The driver of a run looks by itself."""
        self.connection.call(self._wake(run_id))

    def end(self, run_id: str) -> bool:
        """Start the workflow that has a worker end the run."""
        self.connection.call(self._end(run_id, self._queue_of(run_id)))
        return True

    def is_driven(self) -> bool:
        """Whether a worker asks for work."""
        return self.connection.call(self._count_pollers()) > 0

    def close(self) -> None:
        """End the connection."""
        self.connection.close()

    def _queue_of(self, run_id: str) -> Queue:
        return self.connection.queue.of(cause_of(self._journal.read_sound(run_id, 1)))

    async def _start(self, run_id: str, queue: Queue) -> None:
        await start_run(await self.connection.client(), queue, run_id)

    async def _end(self, run_id: str, queue: Queue) -> None:
        client = await self.connection.client()
        await client.start_workflow(
            CANCEL,
            args=[run_id, queue.lease_seconds],
            id=f"pflow-cancel/{run_id}",
            task_queue=queue.name,
            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        )

    async def _wake(self, run_id: str) -> None:
        client = await self.connection.client()
        handle: WorkflowHandle[object, str] = client.get_workflow_handle(run_id)
        try:
            await handle.signal(WAKE)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:  # it has ended, or was never submitted
                raise

    async def _count_pollers(self) -> int:
        client = await self.connection.client()
        queue = self.connection.queue
        answer = await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=queue.address.namespace,
                task_queue=TaskQueue(name=queue.name),
                task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
            )
        )
        return len(answer.pollers)


def refuse_secrets(names: Iterable[str]) -> None:
    """Raise `RunError` for inputs that only this machine knows."""
    listed = ", ".join(f"`{name}`" for name in names)
    if listed:
        raise RunError(
            f"secret inputs do not leave this machine: {listed}",
            suggestions=[
                Advice("store them where the workers are, with `{store_secret}`, and leave them out here", name="NAME")
            ],
        )


def _recorded(run_id: str, error: StorageError) -> StorageError:
    """The error, with what became of the run: it is in the journal, where workers find what nobody started."""
    going_on = Advice(
        "run `{run}` is recorded: its workers begin it once Temporal is back; if it is not to be, `{cancel_run}`",
        run=run_id,
    )
    details = {**error.details, "run_id": run_id}
    return StorageError(error.message, details=details, suggestions=[going_on, *error.suggestions])


async def start_run(client: Client, queue: Queue, run_id: str) -> None:
    """Start the workflow of a run that is in the journal, or wake the one that it has."""
    await client.start_workflow(
        RUN,
        args=[queue.lease_seconds, _FIRST_TURN],
        id=run_id,
        task_queue=queue.name,
        task_timeout=timedelta(seconds=min(queue.lease_seconds, _LONGEST_TASK_SECONDS)),
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        start_signal=WAKE,
    )
