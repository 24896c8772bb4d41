"""A run that is begun here and driven elsewhere: recorded, submitted, and followed through the journal."""

from __future__ import annotations

import asyncio
import time

from pflow.core.errors import NotFoundError
from pflow.core.event import Event
from pflow.engine.again.settle import doubt_error
from pflow.engine.codec import decode_event
from pflow.engine.history import fold_history, in_doubt
from pflow.engine.ports import Unrecorded
from pflow.engine.result import RunResult
from pflow.engine.value import ValueTable
from pflow.execution.conclusion import conclude
from pflow.execution.far.ended import Ending
from pflow.execution.live_run import LiveRun
from pflow.execution.outcome import Outcome
from pflow.execution.place.able import check_able

_LOOK_SECONDS = 0.05


class FarRun(LiveRun):
    """A run of a place with workers. Stopping to look at it does not stop it."""

    async def finish(self) -> Outcome:
        """Have it driven, and follow it until it ends or waits."""
        before = await asyncio.to_thread(self._count_events)
        await asyncio.to_thread(lambda: self._wiring.dispatch.submit(self.run_id, self.record()))
        result = await asyncio.to_thread(self._follow, before)
        return conclude(self._wiring, result, self.plan, self._source, signalled=self._signalled)

    def record(self) -> Unrecorded:
        """Only record that it begins or goes on. Raises, before that, `NoWorkerError` if nobody could drive it."""
        self._wiring.dispatch.is_driven()  # raises if it could not be submitted afterwards
        check_able(self._wiring, self.plan)
        return super().record()

    def stop(self, *, graceful: bool = False, reason: str = "interrupted", hand_over: bool = False) -> None:
        """Look no longer. The run goes on."""
        self._stopped = True

    def _count_events(self) -> int:
        """How many events the run has already, if it goes on."""
        try:
            return self._wiring.journal.info(self.run_id).events
        except NotFoundError:
            return 0

    def _follow(self, before: int) -> RunResult:
        """Tell the observer what happens, until the run has ended or waits."""
        journal, run_id = self._wiring.journal, self.run_id
        values = ValueTable(self._wiring.redactor, lambda digest: journal.value(run_id, digest))
        ending, following, version = Ending(run_id, before), 0, ""
        events: list[Event] = []
        while True:
            seen = journal.version()
            if seen != version:
                version = seen
                records = journal.read(run_id, following)
                following += len(records)
                for event in (decode_event(record, values) for record in records):
                    events.append(event)
                    ending.take(event)
                    if self._observer is not None:
                        self._observer.notify(run_id, event)
                if ending.is_doubtful:
                    raise doubt_error(run_id, in_doubt(self.plan, fold_history(events, values.know_parts)))
                if ending.result is not None:
                    return ending.result
            if self._stopped:
                return self._leave()
            time.sleep(_LOOK_SECONDS)

    def _leave(self) -> RunResult:
        place = self._wiring.place
        message = f"run `{self.run_id}` goes on at `{place.name if place is not None else ''}`"
        return RunResult(run_id=self.run_id, status="running", error={"type": "interrupted", "message": message})
