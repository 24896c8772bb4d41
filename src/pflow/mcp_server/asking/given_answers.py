"""What an agent gives as `answers` of a call: by step, a choice, or an object with more."""

from __future__ import annotations

from collections.abc import Mapping

from pflow.core.errors import InputError
from pflow.core.json_type import describe
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.workspace.asking.question import Answer, Reply

VIA = "mcp-answers"
"""The door of answers that an agent gives itself."""

_PARTS = ("choice", "answer", "decline", "key")
_FORM = "give a choice, or {choice?, answer?: {field: value}, decline?: true, key?}"


def read_answers(given: Mapping[str, object]) -> list[Answer]:
    """The answers, not yet compared with the questions. Raises `InputError`."""
    return [_read(str(place), value) for place, value in given.items()]


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
