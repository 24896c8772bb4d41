"""What a step asks or waits for, and the key that names one question of one run and no other."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Literal, get_args

import orjson

from pflow.core.event import StepAsked, WaitKind
from pflow.core.frozen import Frozen
from pflow.engine.history import Place

Who = Literal["person", "agent", "any"]
WHO: tuple[Who, ...] = get_args(Who)
"""Who may answer."""

Sign = Callable[[bytes], str]
"""Makes a string of some bytes that nobody makes who does not know the secret of the home."""

LONGEST_SECONDS = 31_536_000.0
"""A year: nothing is waited for without end by mistake."""

_KEY_DIGITS = 40


class Question(Frozen):
    """What is asked, or waited for.

    `form` says what can be answered: `choices`, `fields` with a schema each, `default` (the choice that counts when
    nobody answers or somebody declines), `approve` for the approval of a step. A message has its `message` name, and a
    check its `interval` and `backoff`. It ends by itself after `seconds`, or at the moment `until`. `bound` identifies
    what the answer is about: if that changes, it is another question.
    """

    kind: WaitKind
    prompt: str = ""
    show: Mapping[str, object] = {}
    form: Mapping[str, object] = {}
    who: Who = "person"
    seconds: float | None = None
    until: float | None = None
    bound: str = ""

    def asked(self, place: Place, key: str, now: float) -> StepAsked:
        """The event that asks it."""
        step, item = place
        deadline = self.until if self.until is not None else None if self.seconds is None else now + self.seconds
        return StepAsked(
            step=step,
            key=key,
            kind=self.kind,
            at=now,
            item=item,
            prompt=self.prompt,
            show=self.show,
            form=self.form,
            who=self.who,
            deadline=deadline,
        )

    def key(self, run_id: str, place: Place, turn: int, sign: Sign) -> str:
        """What names it. `turn` counts how often it was asked in vain before."""
        about: list[object] = [run_id, *place, turn, self.kind, self.prompt, self.show, self.form, self.who, self.bound]
        if self.kind == "timer":
            about.append(self.seconds)
        return sign(orjson.dumps(about, default=repr, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS))


def signer(secret: Callable[[], bytes]) -> Sign:
    """Signs with a secret that is asked for when it is first needed."""
    return lambda data: hmac.new(secret(), b"pflow question\0" + data, sha256).hexdigest()[:_KEY_DIGITS]


def show_place(step: str, item: int | None) -> str:
    """How people write the place of a wait: `review`, or `review[17]` for an item. `split_item` reads it."""
    return step if item is None else f"{step}[{item}]"
