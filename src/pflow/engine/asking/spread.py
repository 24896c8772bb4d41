"""A batch whose items are runs of their own, which others drive: this run begins them, waits, and gathers.

The id of an item's run is made from this run, the step, the item and the attempt, so that an item is begun once,
whoever drives this run. While all items are with others, this run rests; the end of each of them wakes it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING

from pflow.core.errors import StepError, StepTimeout
from pflow.core.event import ItemFailed
from pflow.engine.asking.parking import SEAT, Group
from pflow.engine.asking.question import Question
from pflow.engine.batch import Batch, end_batch, see_through
from pflow.engine.ending.child import child_inputs

if TYPE_CHECKING:
    from pflow.engine.launch import Launch
    from pflow.engine.ports import RunEnd, Spread
    from pflow.engine.scope import Result, Scope
    from pflow.engine.state import Sets

_LOOK_SECONDS = 90.0
"""How often to look at an item's run that nobody has told about; longer than a process waits without resting."""

_TIME_CHARACTERS = len("20261118-170000-")


async def run_spread_batch(scope: Scope, launch: Launch, spread: Spread) -> Result:
    """All items of a batch step; what an earlier process began is not begun again."""
    work = _SpreadBatch(scope, launch, spread)
    await work.run()
    return end_batch(scope, work)


class _SpreadBatch(Batch):
    """So many items at a time as the batch says, each in a lane: it keeps its lane while its run goes on.

    When all lanes wait for runs, this run rests.
    """

    def __init__(self, scope: Scope, launch: Launch, spread: Spread) -> None:
        super().__init__(scope, launch)
        above = SEAT.get()
        assert above is not None
        self._spread = spread
        self._tries: Counter[int] = Counter()
        self._lanes = self.places
        self._group = Group(above, lambda: self._lanes, pauses=self.pauses)

    async def run(self) -> None:
        """See all items through."""
        await see_through([asyncio.create_task(self._lane(number)) for number in range(self._lanes)])

    async def _lane(self, number: int) -> None:
        seat = self._group.seat(number)
        SEAT.set(seat)
        try:
            await self.loop()
        finally:
            self._lanes -= 1
            self._group.leave(number)

    async def _once(self, index: int) -> tuple[Mapping[str, object], Sets]:
        run, node = self.scope.run, self.node
        assert node.child is not None
        inputs = child_inputs(self.scope, node.child, self.params(index))
        self._tries[index] += 1
        step = f"{self.launch.step}[{index}]"
        child = item_run(run.run_id, step, self._tries[index])
        had_failed = isinstance(self._past.get(index), ItemFailed) or index in (self._again or ())
        run.check_hold()
        await asyncio.to_thread(self._spread.begin, child, node.child, inputs, f"{run.run_id}/{step}")
        if had_failed and self._tries[index] == 1:
            await asyncio.to_thread(self._spread.go_on, child)
        try:
            end = await self._ended(step, child)
        except asyncio.CancelledError:
            if run.is_cancelled:
                await asyncio.to_thread(self._spread.cancel, child)
            raise
        if end.status != "completed":
            message = end.error.get("message") or f"it is {end.status}"
            action = str(end.error.get("action", "error"))
            details = {"cause": dict(end.error), "run_id": child}
            raise StepError(f"sub-workflow failed in run `{child}`: {message}", action=action, details=details)
        return end.outputs, {}

    async def _ended(self, step: str, child: str) -> RunEnd:
        """Wait until an item's run has ended; what it asks is asked there."""

        async def look() -> object:
            return None if await asyncio.to_thread(self._spread.ended, child) is None else {"run": child}

        seat = SEAT.get()
        assert seat is not None
        for turn in count():  # a run that had ended before may go on again
            question = Question(
                kind="check",
                form={"run": child, "interval": _LOOK_SECONDS},
                prompt=f"run `{child}`",
                who="any",
                seconds=self.node.timeout,
                bound=str(turn),
            )
            answered = await self.scope.run.expect_waits().wait(step, question, seat, look=look)
            if answered.outcome == "timed_out":
                await asyncio.to_thread(self._spread.cancel, child)
                raise StepTimeout(f"run `{child}` took longer than the {self.node.timeout:g} s of `{self.node.id}`")
            end = await asyncio.to_thread(self._spread.ended, child)
            if end is not None:
                return end
        raise AssertionError


def item_run(run_id: str, step: str, attempt: int) -> str:
    """The id of the run of an item: it sorts beside the run that it belongs to."""
    digest = blake2b(f"{run_id}\0{step}\0{attempt}".encode(), digest_size=8, person=b"pflow-item").hexdigest()
    return run_id[:_TIME_CHARACTERS] + digest
