"""Answers to the questions of runs, and messages to runs: through whichever door they come, this is how they arrive."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import orjson

from pflow.core.advice import Advice
from pflow.core.clock import now
from pflow.core.errors import (
    AnsweredError,
    ConflictError,
    InputError,
    NotFoundError,
    PflowError,
    SecurityError,
    UsageError,
)
from pflow.core.event import Settled, StepAsked
from pflow.core.frozen import Frozen
from pflow.core.moment import show_moment
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.core.wait_text import show_wait
from pflow.engine.again.name import split_item
from pflow.engine.asking.form import Reply, choices_of, fields_of, fitting, schema_of, settle_reply
from pflow.engine.asking.mail import answer_mail, message_mail
from pflow.engine.asking.question import show_place
from pflow.engine.ports import Mail, RunInfo, RunQuery, Status
from pflow.execution.wiring import Wiring

MOST_SHOWN = 20
"""Places that an error lists, and a result."""

MOST_SHOWN_BYTES = 20 << 10
_PREVIEW_CHARACTERS = 400
"""How much of what a question shows stands in a result, and how much at least of each value."""


_MOST_PROMPTS = 100_000
"""Characters of prompts that stand in one result; the first one always does."""


class Waiting(Frozen):
    """One thing that a run waits for, as people see it, without secrets. Its `place` is such as `step` or `step[3]`."""

    run_id: str
    place: str
    kind: str
    key: str
    prompt: str = ""
    show: Mapping[str, object] = {}
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Mapping[str, object]] = {}
    who: str = "person"
    asked_at: float = 0.0
    deadline: float | None = None
    message: str = ""
    default: str = ""
    approves: bool = False
    schema: Mapping[str, object] | None = None
    """What the answer to a prompt must fit, where an agent is asked in place of a language model."""

    @property
    def step(self) -> str:
        """The step that waits, without its item."""
        return split_item(self.place)[0]

    @property
    def phrase(self) -> str:
        """What is waited for, in words that follow "waiting"."""
        prompt = self.prompt if self.schema is None else shorten(self.prompt, _PREVIEW_CHARACTERS)
        return show_wait(self.kind, prompt, approves=self.approves, deadline=self.deadline)

    def as_data(self, limit: int = MOST_SHOWN_BYTES) -> dict[str, object]:
        """As results have it; the key is for those who are asked. What is shown is cut to about `limit` bytes."""
        data: dict[str, object] = {"step": self.place, "kind": self.kind}
        if self.prompt:
            data["prompt"] = self.prompt
        if self.show:
            room = max(limit // len(self.show), _PREVIEW_CHARACTERS)
            data["show"] = {name: _in_short(value, room) for name, value in self.show.items()}
        if self.choices:
            data["choices"] = list(self.choices)
        if self.fields:
            data["fields"] = {name: dict(schema) for name, schema in self.fields.items()}
        if self.schema is not None:
            data["schema"] = dict(self.schema)
        if self.kind == "question":
            data["who"] = self.who
        if self.message:
            data["message"] = self.message
        data["since"] = show_moment(self.asked_at)
        if self.deadline is not None:
            data["deadline"] = show_moment(self.deadline)
        return data


def waits_data(waits: Sequence[Waiting], limit: int = MOST_SHOWN_BYTES, most: int = MOST_SHOWN) -> dict[str, object]:
    """What a run waits for, as results have it; of many waits only the first.

    Of prompts that an agent answers, each stands there whole, but no more of them than fit.
    """
    found = _that_fit(waits[:most])
    data: dict[str, object] = {"waiting": [one.as_data(limit // max(len(found), 1)) for one in found]}
    return {**data, "more_waiting": len(waits) - len(found)} if len(waits) > len(found) else data


def _that_fit(waits: Sequence[Waiting]) -> Sequence[Waiting]:
    room = _MOST_PROMPTS
    for index, one in enumerate(waits):
        room -= len(one.prompt) if one.schema is not None else 0
        if room < 0 and index:
            return waits[:index]
    return waits


def _in_short(value: object, limit: int) -> object:
    """A value that a question shows, or the beginning of a long one."""
    text = (
        value if isinstance(value, str) else orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    )
    return value if len(text) <= limit else {"$preview": text[:limit], "size": len(text.encode())}


def show_waiting(run_id: str, asked: StepAsked, redact: Any) -> Waiting:
    """A wait without secrets."""
    form = asked.form
    return Waiting(
        run_id=run_id,
        place=show_place(asked.step, asked.item),
        kind=asked.kind,
        key=asked.key,
        prompt=str(redact(asked.prompt)),
        show={str(name): redact(value) for name, value in asked.show.items()},
        choices=choices_of(form),
        fields=fields_of(form),
        who=asked.who,
        asked_at=asked.at,
        deadline=asked.deadline,
        message=str(form.get("message") or ""),
        default=str(form.get("default") or ""),
        approves=form.get("approve") is True,
        schema=schema_of(form),
    )


class Answer(Frozen):
    """An answer to the question of one place. Its `key` allows to answer what only a person may."""

    place: str
    reply: Reply
    key: str = ""


class Answered(Frozen):
    """What became of an answer: the places that it was given for. The run goes on when somebody drives it.

    Before it was given, the run had the `status`, and its process was `alive` or not.
    """

    run_id: str
    places: tuple[str, ...]
    alive: bool
    status: Status


class Inbox:
    """The open questions of one home's runs."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def open(self, run_id: str) -> list[StepAsked]:
        """What a run waits for and has no answer yet; what is overdue is over."""
        journal = self._wiring.journal
        if journal.info(run_id).status in ("completed", "cancelled", "damaged"):
            return []
        history = self._wiring.executor(None).history(run_id)
        delivered = {mail.key for mail in journal.mail(run_id)}
        found = []
        for asked in history.asked.values():
            if asked.key in delivered:
                continue
            if asked.kind == "question" and asked.deadline is not None and asked.deadline <= now():
                self._deliver(run_id, self._mail(asked, "timed_out", {}, by="", via="timeout", at=asked.deadline))
                continue
            found.append(asked)
        return found

    def waiting(self, run_id: str) -> list[Waiting]:
        """The same, as people see it."""
        return [show_waiting(run_id, asked, self._wiring.redactor.value) for asked in self.open(run_id)]

    def all(self) -> list[Waiting]:
        """What all runs wait for: first those that rest, then those that a process has; each the newest first."""
        journal = self._wiring.journal
        resting = journal.runs(RunQuery(status="waiting", limit=None))
        running = [info for info in journal.runs(RunQuery(status="running", limit=None)) if info.alive]
        return [one for info in (*resting, *running) for one in self.waiting(info.run_id)]

    def answer(
        self,
        run_id: str,
        place: str | None,
        reply: Reply,
        *,
        by: str,
        via: str,
        every: bool = False,
        text: bool = False,
        is_person: bool = True,
        key: str = "",
    ) -> Answered:
        """Answer a question, or `every` one of a batch. The first valid answer counts.

        Raises `InputError` for an answer that does not fit, `SecurityError` if not a person answers what only a person
        may, `NotFoundError` if there is no such question, and `AnsweredError` if somebody was first.
        """
        info = self._wiring.journal.info(run_id)
        mails = []
        for asked in self._choose(info, self._questions(run_id), place, every):
            self._check_who(run_id, asked, is_person, key)
            mails.append(self._answer_mail(asked, reply, by=by, via=via, text=text))
        return Answered(run_id=run_id, places=self._deliver_all(run_id, mails), alive=info.alive, status=info.status)

    def answer_all(
        self, run_id: str, answers: Sequence[Answer], *, by: str, via: str, is_person: bool = True
    ) -> Answered:
        """Answer several questions, or none if one of the answers does not fit. Raises what `answer` raises."""
        info = self._wiring.journal.info(run_id)
        questions = self._questions(run_id)
        mails = []
        for answer in answers:
            [asked] = self._choose(info, questions, answer.place, False)
            self._check_who(run_id, asked, is_person, answer.key)
            with _naming(show_place(asked.step, asked.item)):
                mails.append(self._answer_mail(asked, answer.reply, by=by, via=via))
        return Answered(run_id=run_id, places=self._deliver_all(run_id, mails), alive=info.alive, status=info.status)

    def refusal(self, run_id: str, key: str) -> PflowError:
        """Why the question with a key cannot be answered any more: what somebody gets who answers it."""
        return self._nothing(self._wiring.journal.info(run_id), key, ())

    def send(self, run_id: str, name: str, value: Mapping[str, object], *, by: str, via: str) -> Answered:
        """Send a message to a run: whichever step waits for one of this name takes it, now or later."""
        if not name.strip():
            raise UsageError("a message needs a name", suggestions=["give the name that a `wait` has as `message`"])
        info = self._wiring.journal.info(run_id)
        value = fitting(value, what="message")
        mail = message_mail(name, value, by=by, via=via, at=now(), seal=self._seal)
        if not self._deliver(run_id, mail):
            raise UsageError(f"run `{run_id}` is {info.status}; it no longer takes messages")
        return Answered(run_id=run_id, places=(), alive=info.alive, status=info.status)

    def check_left(self, answered: Answered) -> None:
        """Raise `ConflictError` if somebody has taken the run up since, and seen it through."""
        info = self._wiring.journal.info(answered.run_id)
        if not info.alive and info.status != answered.status:
            raise ConflictError(f"run `{answered.run_id}` was taken up by another process")

    def _questions(self, run_id: str) -> list[StepAsked]:
        return [asked for asked in self.open(run_id) if asked.kind == "question"]

    def _answer_mail(
        self, asked: StepAsked, reply: Reply, *, by: str, via: str, text: bool = False
    ) -> tuple[StepAsked, Mail]:
        outcome, answer = settle_reply(asked.form, reply, text=text)
        schema = schema_of(asked.form)
        if schema is not None and outcome == "answered":
            from pflow.execution.model.answer_check import check_answer  # lazy: only for answers to prompts

            check_answer(schema, answer.get("answer"))
        return asked, self._mail(asked, outcome, answer, by=by, via=via, at=now())

    def _choose(self, info: RunInfo, questions: Sequence[StepAsked], place: str | None, every: bool) -> list[StepAsked]:
        run_id = info.run_id
        names = [show_place(asked.step, asked.item) for asked in questions]
        if place is None:
            if len(questions) == 1 or (every and questions):
                return list(questions)
            if len({asked.step for asked in questions}) == 1:
                place = questions[0].step
            elif questions:
                listed = ", ".join(f"`{name}`" for name in names[:MOST_SHOWN])
                more = f" and {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
                raise UsageError(
                    f"run `{run_id}` asks {len(names):,} questions: {listed}{more}",
                    suggestions=[Advice("say which one is answered: `{answer}`", run=run_id, step="STEP")],
                )
        found = [asked for asked, name in zip(questions, names, strict=True) if place in (name, asked.key)]
        if not found and place is not None:
            found = [asked for asked in questions if asked.step == place]
            if len(found) > 1 and not every:
                raise UsageError(
                    f"`{place}` asks about {len(found):,} items",
                    suggestions=[
                        Advice("answer one with `{answer_item}`", run=run_id, step=place),
                        Advice("answer all of them with `{answer_all}`", run=run_id, step=place),
                    ],
                )
        if found:
            return found
        raise self._nothing(info, place, names)

    def _nothing(self, info: RunInfo, place: str | None, names: Sequence[str]) -> PflowError:
        """Why there is nothing to answer: it was answered before, or never asked."""
        run_id = info.run_id
        history = self._wiring.executor(None).history(run_id)
        wanted = split_item(place) if place else None
        given = [mail for mail in self._wiring.journal.mail(run_id) if not mail.key.startswith("message:")]
        for mail in reversed(given):
            asked = next((one for one in history.asked.values() if one.key == mail.key), None)
            about = history.answers.get(mail.key) or asked
            if about is not None and (mail.key == place or wanted in (None, (about.step, about.item))):
                return already_answered(show_place(about.step, about.item), mail)
        if info.status in ("completed", "cancelled"):
            return UsageError(f"run `{run_id}` is {info.status}; it no longer asks anything")
        if place is None or not names:
            return NotFoundError(
                f"run `{run_id}` asks nothing", suggestions=[Advice("`{show_run}` shows it", run=run_id)]
            )
        return NotFoundError(
            f"run `{run_id}` asks no question `{place}`",
            details={"questions": list(names)[:MOST_SHOWN]},
            suggestions=[did_you_mean(place, names) or f"it asks: {', '.join(names[:MOST_SHOWN])}"],
        )

    def _check_who(self, run_id: str, asked: StepAsked, is_person: bool, key: str) -> None:
        """Raise unless it is a person who answers what only a person may, or somebody whom the person gave the key."""
        if is_person or asked.who != "person" or (key and hmac.compare_digest(key.encode(), asked.key.encode())):
            return
        place = show_place(asked.step, asked.item)
        raise SecurityError(
            f"question `{place}` is for a person, and you are not one",
            details={"step": place, "run_id": run_id},
            suggestions=[Advice("a person answers with `{answer}`, in a terminal", run=run_id, step=place)],
        )

    def _deliver_all(self, run_id: str, mails: Sequence[tuple[StepAsked, Mail]]) -> tuple[str, ...]:
        done: list[str] = []
        lost: list[StepAsked] = []
        with self._wiring.journal.together():
            for asked, mail in mails:
                if self._deliver(run_id, mail):
                    done.append(show_place(asked.step, asked.item))
                else:
                    lost.append(asked)
        if lost and not done:
            first = next((one for one in self._wiring.journal.mail(run_id) if one.key == lost[0].key), None)
            if first is None:
                raise UsageError(f"run `{run_id}` is over; it no longer asks anything")
            raise already_answered(show_place(lost[0].step, lost[0].item), first)
        return tuple(done)

    def _deliver(self, run_id: str, mail: Mail) -> bool:
        return self._wiring.journal.deliver(run_id, mail)

    def _mail(
        self, asked: StepAsked, outcome: Settled, answer: Mapping[str, object], *, by: str, via: str, at: float
    ) -> Mail:
        return answer_mail(asked, outcome, answer, by=by, via=via, at=at, seal=self._seal)

    def _seal(self, data: bytes) -> bytes:
        return self._wiring.redactor.data(data)


@contextmanager
def _naming(place: str) -> Iterator[None]:
    """Say of an answer that does not fit which question it was for."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"`{place}`: {error.message}", details={"step": place, **error.details}, suggestions=error.suggestions
        ) from None


def already_answered(place: str, mail: Mail) -> AnsweredError:
    """What a later answer gets."""
    by = f" by {mail.by}" if mail.by else ""
    said = f"`{place}` was already answered{by}, via {mail.via or 'another door'}, at {show_moment(mail.at)}"
    return AnsweredError(
        f"the time to answer `{place}` ended at {show_moment(mail.at)}" if mail.via == "timeout" else said,
        details={"step": place, "by": mail.by, "via": mail.via, "at": show_moment(mail.at)},
    )
