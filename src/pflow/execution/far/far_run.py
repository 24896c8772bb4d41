"""A run that is begun here and driven elsewhere: recorded, submitted, and followed through the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, StorageError
from pflow.core.event import Event
from pflow.engine.again.settle import doubt_error
from pflow.engine.codec import decode_event
from pflow.engine.history import fold_history, in_doubt
from pflow.engine.plan import Plan
from pflow.engine.ports import Observer, Unrecorded
from pflow.engine.result import RunResult
from pflow.engine.value import MarkedValues
from pflow.execution.conclusion import conclude
from pflow.execution.far.ended import Ending
from pflow.execution.live_run import LiveRun
from pflow.execution.outcome import Outcome
from pflow.execution.place.able import check_able
from pflow.execution.place.transaction import at_once
from pflow.execution.wiring import Wiring

_LOOK_SECONDS = 0.05


class FarRun(LiveRun):
    """A run of a place with workers. Stopping to look at it does not stop it.

    `have_driven` starts it once it is recorded, where that is not for the dispatch.
    """

    is_driven_elsewhere = True
    have_driven: Callable[[], None] | None = None

    async def finish(self) -> Outcome:
        """Have it driven, and follow it until it ends or waits."""
        with _nothing_begun():
            before = await asyncio.to_thread(self._count_events)
        await asyncio.to_thread(self._submit)
        result = await self._follow(before)
        return conclude(self._wiring, result, self.plan, self._source, signalled=self._signalled)

    def _submit(self) -> None:
        unrecorded = self.record()
        if self.have_driven is None:
            self._wiring.dispatch.submit(self.run_id, unrecorded)
        else:
            self.have_driven()

    def record(self) -> Unrecorded:
        """Only record that it begins or goes on. Raises, before that, `NoWorkerError` if nobody could drive it."""
        with _nothing_begun():
            self._wiring.dispatch.is_driven()  # raises if it could not be submitted afterwards
            check_able(self._wiring, self.plan, self._inputs, self.queue)
        try:
            with at_once(self._wiring):
                return super().record()
        except StorageError as error:  # its answer may be what was lost
            seen = Advice("if `{show_run}` finds the run once the journal is back, workers begin it", run=self.run_id)
            details = {**error.details, "run_id": self.run_id}
            raise StorageError(error.message, details=details, suggestions=[seen, *error.suggestions]) from error

    def stop(self, *, graceful: bool = False, reason: str = "interrupted", hand_over: bool | None = None) -> None:
        """Look no longer. The run goes on."""
        self._stopped = True

    def _count_events(self) -> int:
        """How many events the run has already, if it goes on."""
        try:
            return self._wiring.journal.info(self.run_id).events
        except NotFoundError:
            return 0

    async def _follow(self, before: int) -> RunResult:
        """Look until the run has ended or waits. Between looks no thread is held: a server follows many runs."""
        look = _Look(self._wiring, self.plan, self.run_id, self._observer, before)
        while True:
            found = await asyncio.to_thread(look.take)
            if found is not None:
                return found
            if self._stopped:
                return self._leave()
            await asyncio.sleep(_LOOK_SECONDS)

    def _leave(self) -> RunResult:
        place = self._wiring.place
        message = f"run `{self.run_id}` goes on at `{place.name if place is not None else ''}`"
        return RunResult(run_id=self.run_id, status="running", error={"type": "interrupted", "message": message})


@contextmanager
def _nothing_begun() -> Iterator[None]:
    """Have errors of the place say that nothing was recorded yet."""
    try:
        yield
    except StorageError as error:
        message = f"{error.message}; nothing was begun"
        raise StorageError(message, details=error.details, suggestions=error.suggestions) from error


class _Look:
    """What was seen of a run so far."""

    def __init__(self, wiring: Wiring, plan: Plan, run_id: str, observer: Observer | None, before: int) -> None:
        self._journal = journal = wiring.journal
        self._plan = plan
        self._run_id = run_id
        self._observer = observer
        self._values = MarkedValues(wiring.redactor, lambda digest: journal.value(run_id, digest))
        self._ending = Ending(run_id, before)
        self._events: list[Event] = []
        self._version = ""

    def take(self) -> RunResult | None:
        """Tell the observer what is new; how the run ended, if it has, or what it waits for."""
        seen = self._journal.version()
        if seen == self._version:
            return None
        self._version = seen
        for record in self._journal.read(self._run_id, len(self._events)):
            event = decode_event(record, self._values)
            self._events.append(event)
            self._ending.take(event)
            if self._observer is not None:
                self._observer.notify(self._run_id, event)
        if self._ending.is_doubtful:
            history = fold_history(self._events, self._values.know_parts)
            raise doubt_error(self._run_id, in_doubt(self._plan, history))
        result = self._ending.result
        return None if result is not None and self._goes_on(result) else result

    def _goes_on(self, result: RunResult) -> bool:
        """Whether a run only waits for runs of its items, of which some do not wait for anybody."""
        children = [str(asked.form["run"]) for asked in result.waiting if "run" in asked.form]
        found = (self._journal.info(run_id) for run_id in children)
        return any(info.status != "waiting" or info.has_mail or info.wake_at is not None for info in found)
