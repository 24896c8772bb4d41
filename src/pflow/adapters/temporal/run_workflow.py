"""The one workflow that Temporal knows: it has a run driven, turn after turn, until it neither waits nor is in doubt.

It has to stay deterministic, also for runs that were begun with an earlier version: a change of what it does needs a
new name. It knows nothing of documents.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypedDict

from temporalio import workflow
from temporalio.common import RetryPolicy

RUN = "pflow-run-1"
DRIVE = "pflow-drive-1"
WAKE = "wake"

_LONGEST = timedelta(days=3650)
"""A run takes as long as it takes; a worker that is gone is noticed by its missing beats."""

_RETRIES_PER_LEASE = 3
"""How often at least a turn is tried again that nobody could drive: what it lacked may be back at any time."""


class Stand(TypedDict, total=False):
    """How a run stands after a turn.

    It `waits` for something: for `seconds`, or until it is woken. `late` is a turn that the journal has seen, and that
    the next one has to be above.
    """

    status: str
    waits: bool
    seconds: float
    late: int


@workflow.defn(name=RUN, sandboxed=False)
class RunWorkflow:
    """Has one run driven. Its id is the run's."""

    def __init__(self) -> None:
        self._wakes = 0

    @workflow.signal(name=WAKE)
    def wake(self) -> None:
        """Something was stored for the run that may let it go on."""
        self._wakes += 1

    @workflow.run
    async def run(self, lease_seconds: float, turn: int) -> str:
        """See the run through; how it ended."""
        while True:
            seen = self._wakes
            stand: Stand = await workflow.execute_activity(
                DRIVE,
                args=[workflow.info().workflow_id, turn],
                heartbeat_timeout=timedelta(seconds=lease_seconds),
                start_to_close_timeout=_LONGEST,
                retry_policy=_again(lease_seconds),
                result_type=Stand,
            )
            turn = max(turn, stand.get("late", 0)) + 1
            if "late" in stand or self._is_woken(seen):
                continue
            if not stand.get("waits"):
                return stand.get("status", "")
            with suppress(asyncio.TimeoutError):
                await workflow.wait_condition(partial(self._is_woken, seen), timeout=stand.get("seconds"))
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(args=[lease_seconds, turn])

    def _is_woken(self, seen: int) -> bool:
        return self._wakes > seen


def _again(lease_seconds: float) -> RetryPolicy:
    longest = timedelta(seconds=lease_seconds / _RETRIES_PER_LEASE)
    return RetryPolicy(initial_interval=timedelta(milliseconds=100), maximum_interval=longest)
