"""A worker: one process of many that drive the runs of a place. Temporal hands it runs, one turn at a time.

A turn is driven with a ticket, which fences it in the journal: once a later turn has the run, nothing of an earlier one
can be recorded. The beats of a turn are its lease; a turn that cannot beat lets go of its run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from temporalio.service import RPCError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from pflow.adapters.temporal.connection import Queue, check_namespace, connect
from pflow.adapters.temporal.dispatch import start_run
from pflow.adapters.temporal.due_workflow import CancelWorkflow, DueWorkflow
from pflow.adapters.temporal.run_workflow import DRIVE, RunWorkflow, Stand
from pflow.core.clock import now
from pflow.core.errors import ConflictError, InDoubtError, PflowError, UsageError
from pflow.core.file.home import Home
from pflow.engine.ports import RunInfo
from pflow.execution.outcome import Outcome
from pflow.execution.place.queue import find_queue
from pflow.execution.wiring import Wiring
from pflow.workspace.driving.due import DueTimes
from pflow.workspace.driving.engine_thread import MOST_RUNS, EngineThread
from pflow.workspace.driving.presence import Presence
from pflow.workspace.driving.reaching import tell_of_outages
from pflow.workspace.driving.until_signal import serve_until_signal

BEATS_PER_LEASE = 3
ATTEMPT_BITS = 32

Say = Callable[[str], None]

_SURE = 0.9
"""The part of a lease after which somebody else may have a run: beats take time to arrive."""

_HELD_BACK = 0.03
"""The part of a lease for which a beat may be held back before it is sent; less than what `_SURE` leaves."""

_PATIENCE = timedelta(days=365)
"""How long a worker that is told to end waits for the steps that are running."""

_HOUSE_SECONDS = 3600.0
_DAY_SECONDS = 86_400.0

_OVER = ("completed", "cancelled", "failed", "stopped", "damaged")


def run_worker(home: Home, place: str, *, queue: str = "", slots: int, say: Say) -> int:
    """Drive runs of a place until a signal comes; the exit code.

    Raises `UsageError` for a place without workers and for too many slots, and `StorageError` if a part of it cannot be
    reached.
    """
    if slots > MOST_RUNS:
        raise UsageError(
            f"a worker drives at most {MOST_RUNS} runs at once, not {slots}", suggestions=["start several workers"]
        )
    wiring = Wiring(home, on=place, queue=queue)
    found = find_queue(wiring)
    keep_days = wiring.place.keep_days if wiring.place is not None else 0
    engine = EngineThread(home, driven=True, on=place, queue=queue)
    try:
        engine.workspaces.open().driving.version()  # the journal is there, and as it should be
        return asyncio.run(_serve(engine, found, slots, keep_days, say))
    finally:
        engine.workspaces.close()


async def _delete_old(engine: EngineThread, days: int, say: Say) -> None:
    """Delete runs of the place that ended so many days ago, now and then. All workers do, and none depends on it."""
    while True:
        try:
            gone = await asyncio.to_thread(lambda: engine.workspaces.open().place_journal.clean(days * _DAY_SECONDS))
            if gone:
                say(f"deleted {gone} run{'s' * (gone != 1)} that ended more than {days} days ago")
        except PflowError as error:
            say(f"old runs were not deleted: {error.message}")
        await asyncio.sleep(_HOUSE_SECONDS)


async def _serve(engine: EngineThread, queue: Queue, slots: int, keep_days: int, say: Say) -> int:
    client = await connect(queue)
    await check_namespace(client, queue)
    turns = Turns(engine, queue, say)
    due = DueTimes(lambda: engine.workspaces.open(spread=engine.workspaces.open().driving.spread()), say)
    presence = Presence(lambda: engine.workspaces.open().place_workers, client.identity, queue, slots)
    stopping = asyncio.Event()

    async def work() -> None:
        async with _worker(client, queue, turns, due, slots) as polling:
            differing = await asyncio.to_thread(presence.enter)
            if differing:
                say(f"other node types than here are at {', '.join(differing)}: runs may fail to be taken up by some")
            say(f"driving runs of queue `{queue.name}` at `{queue.address}`, up to {slots} at once")
            beside = [asyncio.create_task(turns.find_lost(client)), asyncio.create_task(presence.keep(say))]
            beside.append(asyncio.create_task(tell_of_outages(client, queue, say)))
            beside += [asyncio.create_task(_delete_old(engine, keep_days, say))] if keep_days else []
            await stopping.wait()
            for task in beside:
                task.cancel()
            ending = asyncio.create_task(polling.shutdown())  # first: what is given back must not come back here
            turns.drain()
            say("stopping: steps that are running are finished first")
            await _part(presence, say)
            await turns.ended()
            await ending
        await engine.close(patient=True)

    return await serve_until_signal(work(), stop=stopping.set)


async def _part(presence: Presence, say: Say) -> None:
    try:
        await asyncio.to_thread(presence.leave)
    except PflowError as error:
        say(f"its place does not hear that this worker ends: {error.message}")


def _worker(client: Client, queue: Queue, turns: Turns, due: DueTimes, slots: int) -> Worker:
    return Worker(
        client,
        task_queue=queue.name,
        workflows=[RunWorkflow, DueWorkflow, CancelWorkflow],
        activities=[turns.drive, due.begin, due.end, due.look],
        workflow_runner=UnsandboxedWorkflowRunner(),
        max_concurrent_activities=slots,
        max_cached_workflows=0,  # a workflow that is kept here has to wait for us for ten seconds if we are gone
        graceful_shutdown_timeout=_PATIENCE,
        max_heartbeat_throttle_interval=timedelta(seconds=queue.lease_seconds * _HELD_BACK),
    )


class Turns:
    """The turns that this process has: any number of runs, on one event loop, with the connections that they share."""

    def __init__(self, engine: EngineThread, queue: Queue, say: Say) -> None:
        self._engine = engine
        self._queue = queue
        self._say = say
        self._live: set[asyncio.Task[object]] = set()

    def drain(self) -> None:
        """Stop every run when the steps that are running are finished. Others go on with them."""
        self._engine.leave(graceful=True)

    async def ended(self) -> None:
        """Wait until all turns have told how their runs stand."""
        while self._live:
            await asyncio.wait(set(self._live))

    async def find_lost(self, client: Client) -> None:
        """Start runs that are due and that nobody has moved for a while: whoever submitted them may be gone."""
        before: dict[str, int] = {}
        while True:
            await asyncio.sleep(self._queue.lease_seconds)
            try:
                due = await asyncio.to_thread(lambda: self._engine.workspaces.open().driving.due(now()))
                for info in due:
                    if before.get(info.run_id) == info.events:
                        await start_run(client, await asyncio.to_thread(self._queue_of, info.run_id), info.run_id)
            except (PflowError, RPCError) as error:
                self._say(f"runs that wait could not be looked at: {error}")
                continue
            before = {info.run_id: info.events for info in due}

    @activity.defn(name=DRIVE)
    async def drive(self, run_id: str, turn: int) -> Stand:
        """Drive a run until it ends or waits. Beats tell Temporal that somebody is at it."""
        task = asyncio.current_task()
        if task is not None:
            self._live.add(task)
            task.add_done_callback(self._live.discard)
        lease = _Lease(self._queue.lease_seconds)
        beating = asyncio.create_task(lease.keep())
        try:
            return await self._drive(run_id, turn, turn << ATTEMPT_BITS | activity.info().attempt, lease)
        except InDoubtError as error:  # whoever decides about it has the run submitted again
            self._say(f"{run_id}: in doubt: {error.message}")
            return {"status": "in_doubt"}
        except PflowError as error:  # another worker, or this one later, may be able to
            what = "let go" if isinstance(error, ConflictError) else "cannot be driven here"
            self._say(f"{run_id}: {what}: {error.message}")
            raise _told(error.message, error.code) from error
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is not None and details.cancel_requested:
                raise
            self._say(f"{run_id}: let go: its lease is over")
            raise _told("its lease is over", ConflictError.code) from None
        finally:
            beating.cancel()

    async def _drive(self, run_id: str, turn: int, ticket: int, lease: _Lease) -> Stand:
        await self._end_earlier(run_id)
        info = await self._info(run_id)
        if (
            info.ticket > ticket
        ):  # of an earlier workflow, perhaps with more attempts: a turn above it may claim the run
            return {"late": info.ticket >> ATTEMPT_BITS}
        if info.status in _OVER:
            return {"status": info.status}
        workspaces = self._engine.workspaces
        spread = workspaces.open().driving.spread()
        run = await asyncio.to_thread(
            lambda: workspaces.open(ticket=ticket, holds=lease.is_held, spread=spread).begin_resume(run_id)
        )
        self._say(f"{run_id}: taken up")
        for name in run.lost_files:
            self._say(f"{run_id}: `{name}` is not here: it is on the machine of the worker that had the run before")
        driven = asyncio.wrap_future(self._engine.launch(run))
        if run.limit is not None:
            self._engine.stop_after(run, run.limit)
        try:
            outcome = await asyncio.shield(driven)
        except asyncio.CancelledError:
            driven.add_done_callback(_take_note)
            await self._end_earlier(run_id)
            raise
        self._say(f"{run_id}: {outcome.status}")
        info = await self._info(run_id)
        if run.parent and info.status in _OVER:
            await asyncio.to_thread(lambda: workspaces.open().driving.go_on(run.parent))
        return _stand(info)

    async def _info(self, run_id: str) -> RunInfo:
        return await asyncio.to_thread(lambda: self._engine.workspaces.open().driving.info(run_id))

    def _queue_of(self, run_id: str) -> Queue:
        return self._queue.of(self._engine.workspaces.open().causes([run_id])[run_id])

    async def _end_earlier(self, run_id: str) -> None:
        """See to it that no turn of this process has the run: two of one process would be one owner to the journal."""
        live = self._engine.find_live(run_id)
        if live is not None:
            self._engine.halt(run_id)
            ending = asyncio.wrap_future(live)
            ending.add_done_callback(_take_note)
            await asyncio.wait([ending])


def _told(message: str, code: str) -> ApplicationError:
    """Why a turn failed; benign, because it was said, and needs no trace of calls."""
    return ApplicationError(message, type=code, category=ApplicationErrorCategory.BENIGN)


def _take_note(ended: asyncio.Future[Outcome]) -> None:
    """Nobody is interested any more in what a turn gave, or why it failed."""
    if not ended.cancelled():
        ended.exception()


class _Lease:
    """The time for which a run is surely ours: from each beat on, a part of what Temporal waits for the next one.

    One that was not kept in time is lost for good, whatever beats come after that.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._beaten = time.monotonic()

    async def keep(self) -> None:
        """Beat for as long as the turn lasts."""
        while self.is_held():
            self._beaten = time.monotonic()
            activity.heartbeat()
            await asyncio.sleep(self._seconds / BEATS_PER_LEASE)

    def is_held(self) -> bool:
        """Whether the last beat is recent enough for Temporal to have waited. To be called from any thread."""
        return time.monotonic() - self._beaten < self._seconds * _SURE


def _stand(info: RunInfo) -> Stand:
    """How a run stands, for the workflow that decides about its next turn."""
    if info.status != "waiting":
        return {"status": info.status}
    if info.has_mail:
        return {"status": info.status, "waits": True, "seconds": 0.0}
    if info.wake_at is None:
        return {"status": info.status, "waits": True}
    return {"status": info.status, "waits": True, "seconds": max(0.0, info.wake_at - now())}
