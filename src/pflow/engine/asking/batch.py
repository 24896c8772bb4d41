"""A batch whose items may wait: one that waits holds no place, and those to be approved are asked about all at once."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from pflow.core.errors import DeclinedError, PflowError, StepTimeout
from pflow.core.event import Event, ItemStarted
from pflow.engine.asking.approval import ask_approval
from pflow.engine.asking.parking import SEAT, Group, Seat
from pflow.engine.batch import Batch, end_batch, see_through
from pflow.engine.failure import Halted

if TYPE_CHECKING:
    from pflow.engine.launch import Launch
    from pflow.engine.scope import Result, Scope


async def run_waiting_batch(scope: Scope, launch: Launch) -> Result:
    """All items of a batch step whose items may wait; what an earlier process completed is not run again."""
    spread = scope.run.shared.spread
    if spread is not None and launch.node.batch is not None and launch.node.batch.spread:
        from pflow.engine.asking.spread import run_spread_batch  # lazy: only where there are workers

        return await run_spread_batch(scope, launch, spread)
    work = _WaitingBatch(scope, launch)
    await work.run()
    return end_batch(scope, work)


class _WaitingBatch(Batch):
    """Each item has a task of its own, and works only while it has one of the places."""

    def __init__(self, scope: Scope, launch: Launch) -> None:
        super().__init__(scope, launch)
        above = SEAT.get()
        assert above is not None
        self._places = asyncio.Semaphore(self.batch.concurrency)
        self._under_way = len(self.todo)
        self._group = Group(above, lambda: self._under_way, pauses=self.pauses)
        self._begun_before = scope.run.history.waiting_items(launch.step)

    async def run(self) -> None:
        """See all items through."""
        await see_through([asyncio.create_task(self._alone(index)) for index in self.todo])

    async def _alone(self, index: int) -> None:
        """One item: its approval, its place, its work."""
        try:
            ended = await self._approved(index)
            if ended is not None:
                await self.scope.run.emit_grouped(ended)
                return
            place = _Place(self._group.seat(index), self._places)
            async with place:
                await self._placed(index, place)
        except Halted:
            self.halted = True
        finally:
            self._under_way -= 1
            self._group.leave(index)

    async def _approved(self, index: int) -> Event | None:
        """Ask whether an item may take effect; how it ended if nobody agreed."""
        if self.node.approve is None or self.scope.run.stopping:
            return None
        run, step = self.scope.run, f"{self.launch.step}[{index}]"
        try:
            if run.shared.tape is not None:
                run.shared.tape.approve(self.node, self.params(index), step)
            else:
                seat = self._group.seat(index)
                await ask_approval(run, self.node, step, self.params(index), self.lookup(index), seat)
        except PflowError as error:
            self._taken += 1
            unapproved = isinstance(error, DeclinedError | StepTimeout)
            return self.failed(index, error, run.describe(error, self.node.id), unapproved=unapproved)
        return None

    async def _placed(self, index: int, place: Seat) -> None:
        """The work of an item; it keeps its place until how it ended is recorded."""
        run = self.scope.run
        if run.stopping or self.failure is not None:
            return
        await self._turn(index)
        self._taken += 1
        if index not in self._begun_before:
            await run.emit_grouped(ItemStarted(step=self.launch.step, item=index, at=time.time()))
        SEAT.set(place)
        await run.emit_grouped(await self.item(index))


class _Place:
    """One of the places in which items work, and the seat of the item in it: while it waits, another item has it."""

    def __init__(self, seat: Seat, places: asyncio.Semaphore) -> None:
        self._seat = seat
        self._places = places
        self._is_taken = False
        self.pauses = seat.pauses

    async def __aenter__(self) -> None:
        await self._places.acquire()
        self._is_taken = True

    async def __aexit__(self, *_: object) -> None:
        self._free()

    def park(self) -> None:
        """Give the place away."""
        self._free()
        self._seat.park()

    async def unpark(self) -> None:
        """Go on once there is a place again."""
        await self._seat.unpark()
        await self.__aenter__()

    def _free(self) -> None:
        if self._is_taken:
            self._is_taken = False
            self._places.release()
