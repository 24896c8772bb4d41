"""What a worker does for the due times of schedules: records their runs, cancels them, and tells how they ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from temporalio import activity
from temporalio.exceptions import ApplicationError

from pflow.adapters.temporal.due_workflow import BEGIN, END, LOOK, Due
from pflow.core.errors import PflowError, UsageError
from pflow.workspace.workspace import Workspace

_BEAT_SECONDS = 0.5


async def _beat() -> None:
    """Tell Temporal that somebody is at it."""
    while True:
        activity.heartbeat()
        await asyncio.sleep(_BEAT_SECONDS)


class DueTimes:
    """The activities of due times. Each is short, and does nothing if it is done again."""

    def __init__(self, open_workspace: Callable[[], Workspace], say: Callable[[str], None]) -> None:
        self._open = open_workspace
        self._say = say

    @activity.defn(name=BEGIN)
    async def begin(self, due: Due) -> str:
        """Record the run of a due time, or of the workflow for failures; its id, or "" if there is nothing to run."""
        try:
            return await asyncio.to_thread(lambda: self._open().place_schedules.begin(due))
        except PflowError as error:  # another worker, or this one later, may be able to
            self._say(f"schedule {due['schedule']}: {error.message}")
            raise ApplicationError(error.message, type=error.code) from error

    @activity.defn(name=END)
    async def end(self, run_id: str) -> None:
        """Cancel a run, and do what its document wants at its end; if a worker dies over that, others go on with it."""
        beating = asyncio.create_task(_beat())
        try:
            if activity.info().attempt == 1:
                with suppress(UsageError):  # it has ended meanwhile
                    await asyncio.to_thread(lambda: self._open().cancel(run_id))
            else:
                await asyncio.to_thread(lambda: self._open().driving.go_on(run_id))
        finally:
            beating.cancel()

    @activity.defn(name=LOOK)
    async def look(self, run_id: str) -> str:
        """How a run ended; "" while it goes on or waits."""
        info = await asyncio.to_thread(lambda: self._open().driving.info(run_id))
        return "" if info.status in ("running", "waiting") else info.status
