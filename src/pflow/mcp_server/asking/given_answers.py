"""What an agent gives as `answers` of a call, by step: a choice, more than that, or what became of it."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import InputError
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.workspace.again.again import Claim
from pflow.workspace.asking.question import Answer, Reply

VIA = "mcp-answers"
"""The door of answers that an agent gives itself."""

_CLAIMS = ("done", "rerun")
_PARTS = ("choice", "answer", "decline", "key", *_CLAIMS)
_FORM = "give a choice, or {choice?, answer?: {field: value}, decline?: true, key?}"
_CLAIM_FORM = "of a step in doubt say {done: {output: value}} if it took effect, or {rerun: true}"


def read_answers(given: Mapping[str, object]) -> tuple[list[Answer], list[Claim]]:
    """The answers, not yet compared with the questions, and what is said of steps in doubt. Raises `InputError`."""
    answers, claims = [], []
    for place, value in given.items():
        if isinstance(value, Mapping) and any(part in value for part in _CLAIMS):
            claims.append(_read_claim(str(place), value))
        else:
            answers.append(_read(str(place), value))
    return answers, claims


def _read_claim(place: str, value: Mapping[str, object]) -> Claim:
    if len(value) > 1:
        raise _wrong(place, "says more than what became of the step", _CLAIM_FORM)
    outputs = value.get("done")
    if isinstance(outputs, Mapping):
        return Claim(steps=(place,), outcome="done", outputs={str(name): one for name, one in outputs.items()})
    if value.get("rerun") is True:
        return Claim(steps=(place,), outcome="rerun")
    raise _wrong(place, "must have an object of outputs as `done`, or true as `rerun`", _CLAIM_FORM)


def _read(place: str, value: object) -> Answer:
    if isinstance(value, str):
        return Answer(place=place, reply=Reply(choice=value))
    if not isinstance(value, Mapping):
        raise _wrong(place, f"must be a string or an object, not {describe(value)}")
    for name in value:
        if name not in _PARTS:
            raise _wrong(place, f"has no part `{shorten(str(name))}`", did_you_mean(str(name), _PARTS))
    choice, fields, key = value.get("choice"), value.get("answer"), value.get("key")
    decline = value.get("decline", False)
    if not isinstance(choice, str | None):
        raise _wrong(place, f"has a choice that is not a string but {describe(choice)}")
    if not isinstance(decline, bool) or not isinstance(key, str | None):
        raise _wrong(place, "must have true or false as `decline`, and a string as `key`")
    if decline and (choice is not None or fields):
        raise _wrong(place, "declines and answers at once")
    if isinstance(fields, Mapping) or fields is None:
        return Answer(place=place, reply=Reply(choice=choice, fields=fields or {}, declined=decline), key=key or "")
    return Answer(place=place, reply=Reply(choice=choice, value=fields, declined=decline), key=key or "")


def _wrong(place: str, problem: str, hint: str = "") -> InputError:
    return InputError(f"the answer for `{shorten(place)}` {problem}", suggestions=[hint or _FORM])
