"""The open waits of one run in this process: takes answers, messages and moments, and lets the run rest without us."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import TYPE_CHECKING

from pflow.core.clock import now
from pflow.core.errors import InputError, PflowError
from pflow.core.event import Settled, StepAnswered, StepAsked
from pflow.core.frozen import Frozen
from pflow.engine.again.name import split_item
from pflow.engine.asking.form import settle_reply
from pflow.engine.asking.mail import Message, answer_mail, read_answer, read_message, settle
from pflow.engine.asking.moment import next_look
from pflow.engine.asking.parking import Seat
from pflow.engine.asking.question import Question
from pflow.engine.failure import Halted

if TYPE_CHECKING:
    from pflow.engine.ports import Asker, Mail
    from pflow.engine.run import Run

Look = Callable[[], Awaitable[object]]
"""Looks whether a condition holds; gives what was found, or None."""

Accept = Callable[[object], bool]
"""Whether a message is one that is waited for."""

_NO_DEADLINE = float("inf")
_LONGEST_TIMER_SECONDS = 3600.0
"""The clock may be set while we wait."""

_SET_BACK_SECONDS = 1.0
"""Less than that is a clock that is kept right, not one that was set."""


class Patience(Frozen):
    """How long a process waits when there is nothing else to do.

    It waits for what comes within `seconds`, and looks at conditions for that long; with `stays` for anything that
    comes by itself, or from a program: only questions are left to be answered without it. With `hands_back` it does not
    wait while there is a question: whoever started the run is to be told of it, and can answer it before its time is
    over.
    """

    seconds: float = 60.0
    stays: bool = False
    hands_back: bool = False

    def holds(self, waits: list[StepAsked], wake_at: float | None, since: float) -> bool:
        """Whether to stay for what is waited for since a moment, and for which something is to be done at `wake_at`."""
        if self.hands_back and any(asked.kind == "question" for asked in waits):
            return False
        if wake_at is not None and wake_at - since <= self.seconds:
            return True
        return bool(self.stays_for(waits, since))

    def stays_for(self, waits: list[StepAsked], since: float) -> list[StepAsked]:
        """What a process waits for that would have left the run waiting by now, or might, if it did not stay."""
        until = since + self.seconds
        return [one for one in waits if self.stays and one.kind != "question" and not _is_soon(one, until)]


class Wait:
    """One open wait."""

    __slots__ = ("_lasts", "accept", "asked", "context", "due", "future", "look", "next_look", "task")

    def __init__(self, asked: StepAsked, look: Look | None, accept: Accept | None, *, lasts: bool) -> None:
        self.asked = asked
        self._lasts = lasts
        self.due = _NO_DEADLINE if asked.deadline is None else asked.deadline
        self.context = copy_context()  # of the step: whoever sees that it is time to look, the step looks
        self.future: asyncio.Future[StepAnswered] = asyncio.get_running_loop().create_future()
        self.look = look
        self.accept = accept
        self.next_look = 0.0 if look is not None else _NO_DEADLINE
        self.task: asyncio.Task[None] | None = None

    @property
    def moment(self) -> float:
        """When something happens by itself."""
        return min(self.next_look, self.due)

    def set_back(self, seconds: float) -> None:
        """The clock was set back: what `lasts` for so long lasts no longer for that, in this process."""
        self.next_look -= seconds
        if self._lasts:
            self.due -= seconds

    def end(self, answered: StepAnswered) -> None:
        """It is over."""
        if not self.future.done():
            self.future.set_result(answered)


class Waits:
    """The waits of a run, and the seat above all of its steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.pauses = run.pauses
        self._open: dict[str, Wait] = {}
        self._answers: dict[str, Mail] = {}
        self._messages: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for = _NO_DEADLINE
        self._has_looked = False
        self._is_resting = False
        self._resting_since = 0.0
        self._looked_at = (0.0, 0.0)
        self.seen_mail = 0
        self.left: tuple[StepAsked, ...] | None = None
        """What was waited for when the run came to rest, if it did."""

        self.wake_at: float | None = None

    async def wait(
        self, step: str, question: Question, seat: Seat, *, look: Look | None = None, accept: Accept | None = None
    ) -> StepAnswered:
        """Ask, unless it is asked already, and wait for the answer. Raises `Halted` when the run stops before."""
        run, place = self._run, split_item(step)
        history = run.history
        key = question.key(run.run_id, place, history.turns.get(place, 0), run.shared.sign)
        if key in history.answers:
            return history.answers[key]
        asked = history.asked.get(place)
        if asked is None or asked.key != key:
            asked = question.asked(place, key, self._now())
            await run.emit_grouped(run.encode(asked))
        if run.stopping:
            raise Halted
        answered = await self._answer(Wait(asked, look, accept, lasts=question.until is None), seat)
        history.asked.pop(place, None)
        await run.emit_grouped(run.encode(answered))
        history.answers[key] = answered
        return answered

    def knows(self, step: str, question: Question) -> bool:
        """Whether a question was asked before, and is still open or has its answer."""
        run, place = self._run, split_item(step)
        history = run.history
        if not history.asked and not history.answers:
            return False
        key = question.key(run.run_id, place, history.turns.get(place, 0), run.shared.sign)
        asked = history.asked.get(place)
        return key in history.answers or (asked is not None and asked.key == key)

    async def _answer(self, wait: Wait, seat: Seat) -> StepAnswered:
        key = wait.asked.key
        self._open[key] = wait
        seat.park()
        try:
            if self._run.on_rest is None:
                self._begin(wait)
                self._ask_at_hand(wait)
            await seat.pauses.wait(_until(wait.future))
        finally:
            del self._open[key]
            if wait.task is not None:
                wait.task.cancel()
        await seat.unpark()
        return wait.future.result()

    def _begin(self, wait: Wait) -> None:
        """See whether what a wait is for is there already. What others wait for, they see themselves."""
        if not self._has_looked:
            self._has_looked = True
            self.collect()
        else:
            self._settle_known(wait)
        self._tick(wait, self._now())
        self._arm(wait.moment if wait.task is None else _NO_DEADLINE)

    # What ends a wait

    def collect(self) -> None:
        """Take what was delivered to the run since the last time."""
        if not self._open or self._run.on_rest is not None:
            return
        arrived = self._run.shared.journal.mail(self._run.run_id, self.seen_mail)
        self.seen_mail += len(arrived)
        for mail in arrived:
            message = read_message(mail, self._unseal)
            if message is None:
                self._answers[mail.key] = mail
            else:
                self._messages.append(message)
        for key in [key for key in self._answers if key in self._open]:
            self._settle_known(self._open[key])
        self._take_messages()

    def _settle_known(self, wait: Wait) -> None:
        mail = self._answers.pop(wait.asked.key, None)
        if mail is not None:
            wait.end(read_answer(wait.asked, mail, self._unseal))
        elif self._messages and wait.asked.kind == "message":
            self._take_messages()

    def _take_messages(self) -> None:
        """Give messages to those who wait for them; the others are kept for those who come to."""
        taken, messages = self._run.history.taken, self._messages
        self._messages = []
        for message in messages:
            if message.mail.key in taken:
                continue
            wait = next((one for one in self._open.values() if _waits_for(one, message)), None)
            if wait is None:
                self._messages.append(message)
                continue
            taken.add(message.mail.key)
            mail = message.mail
            ended = settle(
                wait.asked, "answered", {"value": message.value}, at=mail.at, by=mail.by, via=mail.via, mail=mail.key
            )
            wait.end(ended)

    def tick(self) -> None:
        """See what time it is: end what is over, and look at what is to be looked at."""
        if self._run.on_rest is not None:
            return
        moment = self._now()
        for wait in list(self._open.values()):
            self._tick(wait, moment)
        pending = [wait.moment for wait in self._open.values() if not wait.future.done() and wait.task is None]
        self._disarm()
        self._arm(min(pending, default=_NO_DEADLINE))

    def _tick(self, wait: Wait, moment: float) -> None:
        if wait.future.done():
            return
        if wait.due <= moment:
            self._expire(wait)
        elif wait.next_look <= moment and wait.task is None and wait.look is not None:
            self._start(wait, self._look(wait, wait.look))

    def _now(self) -> float:
        """What time it is. Where the clock was set back, nothing that is open here takes longer for that."""
        before, passed = self._looked_at
        moment, ticks = now(), asyncio.get_running_loop().time()
        self._looked_at = moment, ticks
        if moment < before - _SET_BACK_SECONDS:
            back = before + ticks - passed - moment
            self._resting_since -= back
            for wait in self._open.values():
                wait.set_back(back)
        return moment

    def _expire(self, wait: Wait) -> None:
        asked = wait.asked
        assert asked.deadline is not None
        if asked.kind == "question":  # somebody may just have answered; the journal knows who was first
            self.deliver(answer_mail(asked, "timed_out", {}, by="", via="timeout", at=asked.deadline, seal=self._seal))
            self.collect()
        elif asked.kind != "check" or wait.task is None:
            outcome: Settled = "answered" if asked.kind == "timer" else "timed_out"
            wait.end(settle(asked, outcome, {}, at=asked.deadline, via="clock"))

    def deliver(self, mail: Mail) -> bool:
        """Put something into the inbox of the run."""
        return self._run.shared.journal.deliver(self._run.run_id, mail)

    def _arm(self, moment: float) -> None:
        """Come back at a moment at which something happens by itself, or before."""
        if moment < self._armed_for:
            self._disarm()
            self._armed_for = moment
            seconds = min(max(moment - self._now(), 0.0), _LONGEST_TIMER_SECONDS)
            self._timer = asyncio.get_running_loop().call_later(seconds, self.tick)

    def _disarm(self) -> None:
        self._armed_for = _NO_DEADLINE
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start(self, wait: Wait, work: Coroutine[object, object, None]) -> None:
        wait.task = asyncio.get_running_loop().create_task(work, context=wait.context)
        wait.task.add_done_callback(lambda task: self._ended(wait, task))

    def _ended(self, wait: Wait, task: asyncio.Task[None]) -> None:
        wait.task = None
        if not task.cancelled() and (error := task.exception()) is not None and not wait.future.done():
            wait.future.set_exception(error)
        if wait.asked.key in self._open and not self._run.stopping:
            self.tick()
            self._decide()

    async def _look(self, wait: Wait, look: Look) -> None:
        found = await look()
        asked = wait.asked
        if found is not None:
            wait.end(settle(asked, "answered", {"value": found}, at=self._now(), via="check"))
        wait.next_look = next_look(asked.at, asked.form, self._now())

    def _ask_at_hand(self, wait: Wait) -> None:
        asker, asked = self._run.shared.asker, wait.asked
        if asker is not None and asked.kind == "question" and asked.who != "agent" and not wait.future.done():
            self._start(wait, self._ask(wait, asker))

    async def _ask(self, wait: Wait, asker: Asker) -> None:
        """Ask somebody who is at hand."""
        run = self._run
        given = await asker.ask(run.run_id, run.show(wait.asked))
        if given is None:
            return
        try:
            outcome, answer = settle_reply(wait.asked.form, given.reply)
        except InputError as problem:
            run.report(wait.asked.step, f"the answer does not fit: {problem.message}")
            return
        self.deliver(
            answer_mail(wait.asked, outcome, answer, by=given.by, via=given.via, at=self._now(), seal=self._seal)
        )
        self.collect()

    # When there is nothing else to do

    def park(self) -> None:
        """Every step that is under way waits."""
        self._is_resting = True
        self._resting_since = self._now()
        asyncio.get_running_loop().call_soon(self._decide)

    async def unpark(self) -> None:
        """Something goes on."""
        self._is_resting = False

    def _decide(self) -> None:
        """Leave the run to rest, unless what it waits for comes soon."""
        waits = list(self._open.values())
        if not self._is_resting or self._run.stopping or any(one.task or one.future.done() for one in waits):
            return
        if self._run.on_rest is not None:
            act, self._run.on_rest = self._run.on_rest, None
            act()
            return
        shared, asked, since = self._run.shared, [wait.asked for wait in waits], self._resting_since
        patience = Patience() if shared.patience is None else shared.patience()
        if not patience.holds(asked, self._moment(), since):
            self._run.stop()
        elif shared.staying is not None and patience.stays_for(asked, since):
            shared.staying(self._run.run_id, [self._run.show(one) for one in asked])

    def note_rest(self) -> None:
        """The run is stopped: remember what it waits for, if it does nothing else."""
        self._disarm()
        if self._is_resting and self.left is None:
            self.left = tuple(wait.asked for wait in self._open.values())
            self.wake_at = self._moment()

    def _moment(self) -> float | None:
        first = min((wait.moment for wait in self._open.values()), default=_NO_DEADLINE)
        return None if first == _NO_DEADLINE else first

    def _seal(self, data: bytes) -> bytes:
        return self._run.values.seal(data)

    def _unseal(self, data: object) -> object:
        return self._run.values.unseal(data, whole=False)


def _is_soon(asked: StepAsked, until: float) -> bool:
    return asked.kind == "timer" and asked.deadline is not None and asked.deadline <= until


def _waits_for(wait: Wait, message: Message) -> bool:
    asked = wait.asked
    if wait.future.done() or asked.kind != "message" or asked.form.get("message") != message.name:
        return False
    try:
        return wait.accept is None or wait.accept(message.value)
    except PflowError:
        return False  # a condition that cannot be evaluated for a message does not hold for it


async def _until(future: asyncio.Future[StepAnswered]) -> None:
    await asyncio.wait([future])
