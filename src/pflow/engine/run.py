"""One run in this process: where its events go, and how it is told to stop."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pflow.core.errors import PflowError, StorageError
from pflow.core.event import (
    HANDED_OVER,
    IN_DOUBT,
    Event,
    ItemFailed,
    ItemNotYet,
    RunEnding,
    RunFailed,
    RunStopped,
    StepAsked,
    StepCompleted,
    StepFailed,
    StepNotYet,
)
from pflow.core.frozen import Frozen
from pflow.core.setting.redactor import Redactor
from pflow.engine.attempt.pause import Pauses
from pflow.engine.attempt.tape import Tape
from pflow.engine.attempt.turn import Turns
from pflow.engine.codec import decode_event, encode_event
from pflow.engine.commit import Commits
from pflow.engine.context import Ask, StepContext, enter_step
from pflow.engine.failure import Halted, describe_failure
from pflow.engine.history import History, fold_history
from pflow.engine.keeping.snapshot import NOTHING
from pflow.engine.plan import PlanNode
from pflow.engine.ports import Asker, Cache, Journal, Observer, Record, Services, Spread, Status, Staying
from pflow.engine.thread import Threads
from pflow.engine.value import ValueTable

if TYPE_CHECKING:
    from pflow.core.document.document import Budget
    from pflow.engine.again.origin import Origin
    from pflow.engine.asking.question import Sign
    from pflow.engine.asking.waits import Patience, Waits
    from pflow.engine.model.desk import Desk

E = TypeVar("E", bound=Event)


class Shared(Frozen):
    """What all runs of an executor share. `holds` says whether they are surely ours, where others may take them."""

    journal: Journal
    services: Services
    redactor: Redactor
    observer: Observer | None
    cache: Cache | None
    threads: Threads
    commits: Commits
    turns: Turns
    asker: Asker | None = None
    patience: Callable[[], Patience] | None = None
    staying: Staying | None = None
    sign: Sign
    lends: bool = False
    holds: Callable[[], bool] | None = None
    tape: Tape | None = None
    spread: Spread | None = None


class Run:
    """The parts that all scopes of a run share."""

    def __init__(self, run_id: str, shared: Shared) -> None:
        self.run_id = run_id
        self.shared = shared
        self.values = ValueTable(shared.redactor, lambda sha: shared.journal.value(run_id, sha))
        self.history = History()
        self.edited = False
        """Whether this process has it start over, with an edited document or for another reason."""

        self.origin: Origin | None = None
        self.stopping = False
        self.is_cancelled = False
        self.pauses = Pauses()
        self.waits: Waits | None = None
        self.on_rest: Callable[[], None] | None = None
        """What happens when nothing is left but to wait, in place of waiting."""

        self.about: Mapping[str, object] = {}
        self.kept = NOTHING
        self.budgets: dict[str, Budget] = {}
        """What may be spent on language models, by the prefix of the scope."""

        self.seq = 0
        self.steps = 0
        self.reused: list[str] = []
        self.reran: list[tuple[str, str]] = []
        self.lost: list[StepCompleted] = []
        self.lost_in_sections: list[tuple[str, StepFailed]] = []
        self._prototypes: dict[int, Any] = {}
        self._group: list[Event] = []
        self._sent: list[Event] = []
        self._encoded: dict[int, Record] = {}
        self._flushed: list[asyncio.Future[None]] = []
        self._broken: PflowError | None = None

    def introduce(self, name: str, started_at: float, date: str) -> None:
        """Let steps know which run they are in."""
        started = datetime.fromtimestamp(started_at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.about = {"id": self.run_id, "name": name, "started_at": started, "date": date or started[:10]}

    @property
    def lends(self) -> bool:
        """Whether somebody answers prompts for which there is no model."""
        return self.shared.lends or self.history.lends

    def stop(self) -> None:
        """Start nothing more, and wait for nothing in which no step runs."""
        if self.waits is not None and not self.stopping:
            self.waits.note_rest()
        self.stopping = True
        self.pauses.end()

    def check_hold(self) -> None:
        """Raise `Halted` if somebody else may have the run by now: what we do then could be done twice."""
        if self.shared.holds is not None and not self.shared.holds():
            self.stop()
            raise Halted

    def expect_waits(self) -> Waits:
        """What the steps of a plan that may wait need."""
        if self.waits is None:
            from pflow.engine.asking.waits import Waits  # lazy: many documents never wait

            self.waits = Waits(self)
        return self.waits

    def recall(self) -> History:
        """What the run did so far."""
        records = self.shared.journal.read(self.run_id)
        return fold_history((decode_event(record, self.values) for record in records), self.values.know_parts)

    def create(self, workflow: str, at: float, event: Event, origin: Origin | None = None) -> None:
        """Begin the run with its first event, and with what another one has done."""
        events = (event,) if origin is None else (event, *origin.begin(at))
        records = [encode_event(one, self.values) for one in events]
        self.shared.journal.create(self.run_id, workflow, at, records)
        self.seq = len(records)
        if origin is not None:
            self.origin = origin
            self.edited = not origin.only
            self.history = fold_history(events, self.values.know_parts)
        self._notify(events[:1] if origin is None else (event, events[-1]))  # the copies are not news

    def let_go(self) -> None:
        """Give up a run that was claimed, as it was."""
        if self.history.finished or self.history.cancelled:
            status: Status = "cancelled" if self.history.cancelled else "completed"
            self.shared.journal.append(self.run_id, self.seq, (), status)
        else:
            self.emit(RunStopped(reason=IN_DOUBT, at=time.time()), status="stopped")

    def emit(self, *events: Event, status: Status | None = None) -> None:
        """Make events durable, then notify the observer."""
        if self._group:
            events, self._group = (*self._group, *events), []
        self._append(events, status)
        self._notify(events)

    def rest(self, event: Event) -> None:
        """Leave the run waiting, until something is delivered to it or its time has come."""
        assert self.waits is not None
        events = (*self._group, event)
        self._group = []
        self._append(events, "waiting", wake_at=self.waits.wake_at, seen_mail=self.waits.seen_mail)
        self._notify(events)

    def hand_over(self, at: float, wake_at: float) -> None:
        """Leave the run to whoever drives runs for others, from `wake_at` on."""
        events = (*self._group, RunStopped(reason=HANDED_OVER, at=at))
        self._group = []
        seen_mail = len(self.shared.journal.mail(self.run_id))
        self._append(events, "waiting", wake_at=wake_at, seen_mail=seen_mail)
        self._notify(events)

    def emit_with(self, make: Callable[[], Event], status: Status | None = None) -> None:
        """Emit the event that `make` gives, and make what that stores besides durable in the same transaction.

        Nothing is stored if it raises.
        """
        before = self.seq
        try:
            with self.shared.journal.together():
                event = make()
                events, self._group = (*self._group, event), []
                self._append(events, status)
        except StorageError as error:
            self._broken, self.seq = error, before
            raise
        self._notify(events)

    def encode(self, event: E, recorded: E | None = None) -> E:
        """Encode ahead what is emitted next, where a value that cannot be recorded is still a step's own failure.

        `recorded` is how it is recorded, if that is not as it is.
        """
        self._encoded[id(event)] = encode_event(recorded or event, self.values)
        return event

    def emit_grouped(self, *events: Event) -> asyncio.Future[None]:
        """Like `emit`, but together with what others emit in this turn of the loop; await the result."""
        flushed = asyncio.get_running_loop().create_future()
        if not self._flushed:
            self.shared.commits.join(self)
        self._flushed.append(flushed)  # one for each: a task that is cancelled while it waits cancels its own alone
        self._group.extend(events)
        return flushed

    @property
    def is_alone(self) -> bool:
        """Whether no other run is under way that a commit could be shared with."""
        return self.shared.commits.runs < 2

    def write(self) -> None:
        """Append the group. Not yet durable when this returns."""
        self._sent, self._group = self._group, []
        if self._sent:
            try:
                self._append(self._sent, None)
            except PflowError:
                self._sent = []  # `settle` tells the tasks that wait

    def settle(self, failure: PflowError | None) -> None:
        """Tell the tasks that wait that the group is durable, or why it is not."""
        self._broken = self._broken or failure
        waiting, self._flushed = self._flushed, []
        if self._broken is None:
            self._notify(self._sent)
        self._sent = []
        for flushed in waiting:
            if flushed.done():
                continue
            if self._broken is None:
                flushed.set_result(None)
            else:
                flushed.set_exception(self._broken)
                flushed.exception()  # the task that waited may be gone already

    def describe(self, error: BaseException, node: str) -> dict[str, object]:
        """What is recorded of a failure."""
        return {name: self.shared.redactor.ends(value) for name, value in describe_failure(error, node).items()}

    def instance(self, node: PlanNode) -> Any:
        """A copy of the plan node's PocketFlow node, one for each step, as PocketFlow itself makes them."""
        known = self._prototypes.get(id(node))
        if known is None:
            assert node.make is not None
            known = self._prototypes[id(node)] = node.make()
        kind: Any = type(known)
        if not _is_plain(kind):
            return copy.copy(known)
        clone = kind.__new__(kind)  # what copy.copy does for a plain object, at a fifth of the cost
        clone.__dict__.update(known.__dict__)
        return clone

    def enter(self, node: PlanNode, step: str) -> None:
        """Give the current task its step context."""
        ask = self._ask_for(step) if node.may_wait else None
        desk = self._desk_for(node, step) if node.asks_model else None
        enter_step(StepContext(self.run_id, node.id, step, self.shared.services, self.report, ask, desk))

    def _ask_for(self, step: str) -> Ask:
        """Asks on behalf of a step, from where it runs."""
        from pflow.engine.asking.parking import SEAT  # lazy: many documents never wait

        waits = self.expect_waits()
        return lambda question, **how: waits.wait(step, question, SEAT.get() or waits, **how)

    def _desk_for(self, node: PlanNode, step: str) -> Desk:
        from pflow.engine.model.desk import Desk  # lazy: many documents ask no model

        return Desk(self, step, can_wait=node.may_wait)

    def report(self, step: str, message: str) -> None:
        """Tell the observer, and those who follow the run, what a step is doing."""
        if self.shared.observer is not None:
            self.shared.observer.report(self.run_id, step, self.shared.redactor.text(message))
        if self.shared.services.live is not None:
            self.shared.services.live(self.run_id, step, "report", message)

    def _record(self, event: Event) -> Record:
        return self._encoded.pop(id(event), None) or encode_event(event, self.values)

    def _notify(self, events: Sequence[Event]) -> None:
        if self.shared.observer is not None:
            for event in events:
                self.shared.observer.notify(self.run_id, self._shown(event))

    def _shown(self, event: Event) -> Event:
        """An event as observers get it: what went wrong, which they show, without secrets."""
        if isinstance(event, StepFailed | ItemFailed | RunEnding | RunFailed):
            shown = {name: self.shared.redactor.value(value) for name, value in event.error.items()}
            return event._replace(error=shown)
        if isinstance(event, StepNotYet | ItemNotYet):
            return event._replace(reason=self.shared.redactor.text(event.reason))
        return self.show(event) if isinstance(event, StepAsked) else event

    def show(self, asked: StepAsked) -> StepAsked:
        """A question as people see it: without secrets."""
        redactor = self.shared.redactor
        shown = {name: redactor.value(value) for name, value in asked.show.items()}
        return asked._replace(prompt=redactor.text(asked.prompt), show=shown)

    def _append(
        self, events: Sequence[Event], status: Status | None, *, wake_at: float | None = None, seen_mail: int = 0
    ) -> None:
        records = [self._record(event) for event in events]
        try:
            if status == "waiting":
                self.shared.journal.append(self.run_id, self.seq, records, status, wake_at=wake_at, seen_mail=seen_mail)
            else:
                self.shared.journal.append(self.run_id, self.seq, records, status)
        except PflowError as error:
            self._broken = error
            raise
        self.seq += len(records)


@cache
def _is_plain(kind: Any) -> bool:
    """Whether objects of a class are copied by copying their attributes."""
    return kind.__reduce_ex__ is object.__reduce_ex__ and not (hasattr(kind, "__copy__") or hasattr(kind, "__slots__"))


def own_defaults(instance: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The params that a node has by itself and that are not given, as copies that the step may change."""
    held = getattr(instance, "params", None)
    if not held:
        return {}
    return {
        name: copy.deepcopy(value) if isinstance(value, dict | list) else value
        for name, value in held.items()
        if name not in given
    }
