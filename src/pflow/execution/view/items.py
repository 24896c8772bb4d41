"""The items of a batch as a page shows them: what became of each, and a strip that says so for all of them."""

from __future__ import annotations

from pflow.core.json_type import JsonView, objects_in
from pflow.engine.ending.look import look_of

WAITING, RUNNING, DONE, FAILED, PENDING = (ord(letter) for letter in "ardf.")
_PARTLY = "h"
_MOST_BUCKETS = 160
"""Parts of a strip: more would be narrower than a pixel or two."""

_WORDS = {WAITING: "waiting", RUNNING: "running", DONE: "completed", FAILED: "failed", PENDING: "pending"}


class Items:
    """What became of each item of one batch."""

    __slots__ = ("states",)

    def __init__(self, count: int) -> None:
        self.states = bytearray([PENDING]) * count

    def __len__(self) -> int:
        return len(self.states)

    def set(self, item: int, state: int) -> None:
        """Note what became of an item. Batches of older versions did not say how many they have."""
        if item >= len(self.states):
            self.states.extend([PENDING] * (item + 1 - len(self.states)))
        self.states[item] = state

    def cut_off(self) -> None:
        """The process is gone: what ran may run again."""
        self.states = self.states.replace(b"r", b".")

    def strip(self) -> str:
        """A letter for each item, or for each of at most 160 groups of neighbours: the worst of a group shows."""
        count = len(self.states)
        if count <= _MOST_BUCKETS:
            return self.states.decode()
        bounds = [count * part // _MOST_BUCKETS for part in range(_MOST_BUCKETS + 1)]
        return "".join(_letter(self.states[bounds[part] : bounds[part + 1]]) for part in range(_MOST_BUCKETS))

    def as_data(self) -> dict[str, object]:
        """How many there are of each kind, and the strip."""
        data: dict[str, object] = {"count": len(self.states), "strip": self.strip()}
        for state, word in _WORDS.items():
            if state != PENDING and (found := self.states.count(state)):
                data[word] = found
        return data

    def word(self, item: int) -> str:
        """What became of one item."""
        return _WORDS[self.states[item]]


def _letter(group: bytearray) -> str:
    for state in (FAILED, WAITING, RUNNING):
        if state in group:
            return chr(state)
    done = group.count(DONE)
    return chr(DONE) if done == len(group) else _PARTLY if done else chr(PENDING)


def bars_of(item: JsonView) -> list[list[object]]:
    """The attempts at one item on the time axis, like those of a step; none if no times were noted."""
    last = {"attempt": item.get("attempt"), **{name: item.get(name) for name in ("started_at", "ms", "status")}}
    tries = objects_in(item.get("attempts"))
    if not tries or tries[-1].get("attempt") != last["attempt"]:
        tries = [*tries, last]
    return [bar for one in tries if (bar := _bar(one))]


def _bar(one: JsonView) -> list[object]:
    at, ms = one.get("started_at"), one.get("ms")
    if not isinstance(at, float):
        return []
    end = round(at + ms / 1000, 4) if isinstance(ms, float | int) else None
    look = "done" if one.get("status") == "not_yet" else look_of(str(one.get("status")), "")
    return [round(at, 4), end, look, one.get("attempt")]
