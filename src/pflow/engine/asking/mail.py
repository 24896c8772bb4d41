"""Answers and messages on their way to a run: what the journal's inbox holds of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import orjson

from pflow.core.event import Settled, StepAnswered, StepAsked
from pflow.core.frozen import Frozen
from pflow.engine.ports import Mail

_MESSAGE = "message:"

Seal = Callable[[bytes], bytes]
Unseal = Callable[[object], object]


class Message(Frozen):
    """A message to a run: its name, what it says, and the mail that it is."""

    name: str
    value: object
    mail: Mail


def answer_mail(
    asked: StepAsked, outcome: Settled, answer: Mapping[str, object], *, by: str, via: str, at: float, seal: Seal
) -> Mail:
    """An answer to a question, as mail under its key: the first to arrive is the answer."""
    data = seal(orjson.dumps({"outcome": outcome, "answer": answer}))
    return Mail(key=asked.key, data=data, by=by, via=via, at=at)


def message_mail(name: str, value: Mapping[str, object], *, by: str, via: str, at: float, seal: Seal) -> Mail:
    """A message to whoever waits for one of this name, now or later."""
    data = seal(orjson.dumps({"name": name, "value": value}))
    return Mail(key=f"{_MESSAGE}{os.urandom(8).hex()}", data=data, by=by, via=via, at=at)


def read_message(mail: Mail, unseal: Unseal) -> Message | None:
    """The message that a mail is, if it is one."""
    if not mail.key.startswith(_MESSAGE):
        return None
    data = unseal(orjson.loads(mail.data))
    return Message(name=str(data.get("name")), value=data.get("value"), mail=mail) if isinstance(data, dict) else None


def read_answer(asked: StepAsked, mail: Mail, unseal: Unseal) -> StepAnswered:
    """The answer that a mail is to the question with its key."""
    data = unseal(orjson.loads(mail.data))
    found = data if isinstance(data, dict) else {}
    return settle(
        asked,
        found.get("outcome", "answered"),
        found.get("answer", {}),
        at=mail.at,
        by=mail.by,
        via=mail.via,
        mail=mail.key,
    )


def settle(
    asked: StepAsked,
    outcome: Settled,
    answer: Mapping[str, object],
    *,
    at: float,
    by: str = "",
    via: str = "",
    mail: str = "",
) -> StepAnswered:
    """The event that ends a wait."""
    return StepAnswered(
        step=asked.step,
        key=asked.key,
        kind=asked.kind,
        at=at,
        item=asked.item,
        outcome=outcome,
        answer=answer,
        by=by,
        via=via,
        mail=mail,
        waited=round(max(at - asked.at, 0.0), 3),
    )
