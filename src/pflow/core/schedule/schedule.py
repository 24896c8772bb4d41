"""A schedule: which workflow is due when, with which inputs, where it runs, and what holds if a time was missed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Literal, TypeVar, get_args

import orjson

from pflow.core.errors import CorruptError, UsageError
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten
from pflow.core.schedule.timing import Timing, read_timing
from pflow.core.schedule.zone import read_zone
from pflow.core.suggest import did_you_mean

T = TypeVar("T", bound=str)

Overlap = Literal["skip", "queue", "cancel", "allow"]
"""What happens to a due time while an earlier run of the schedule goes on."""

CatchUp = Literal["none", "one", "all"]
"""Which of the due times that nobody was there for are made up for."""

WINDOW_SECONDS = 86_400.0
"""How far back due times are made up for, unless the schedule says otherwise."""


class Schedule(Frozen):
    """One schedule. Durations are in seconds, moments in seconds since 1970.

    `cwd` and `path` are the directory and the search path for programs that its runs have. Due times count that are
    later than `since`. One with a `paused_at` does not run, for the `reason`.
    """

    name: str
    workflow: str
    when: str
    zone: str
    added_at: float
    since: float
    inputs: Mapping[str, object] = {}
    overlap: Overlap = "skip"
    catch_up: CatchUp = "one"
    window: float = WINDOW_SECONDS
    jitter: float = 0.0
    timeout: float | None = None
    on_failure: str = ""
    cwd: str = ""
    path: str = ""
    paused_at: float | None = None
    reason: str = ""

    @property
    def timing(self) -> Timing:
        """When it is due."""
        return read_timing(self.when, zone=self.zone, anchor=self.added_at)

    def start_of(self, due: float) -> float:
        """When what is due then may start: up to `jitter` later, always the same for the same due time."""
        if not self.jitter:
            return due
        digest = blake2b(f"{self.name}\0{due!r}".encode(), digest_size=8).digest()
        return due + self.jitter * int.from_bytes(digest) / (1 << 64)

    def local(self, moment: float) -> datetime:
        """A moment by the clock of its time zone; in UTC where the zone cannot be looked up."""
        try:
            zone = read_zone(self.zone)
        except UsageError:
            zone = UTC
        return datetime.fromtimestamp(moment, zone)

    def encode(self) -> bytes:
        """The schedule as it is stored."""
        return orjson.dumps(self.as_dict())


def decode_schedule(data: bytes) -> Schedule:
    """A schedule as it was stored; what a later version added is left out. Raises `CorruptError`."""
    try:
        fields = orjson.loads(data)
        return Schedule(**{name: fields[name] for name in Schedule._fields if name in fields})
    except (ValueError, TypeError) as error:
        raise CorruptError(f"a stored schedule cannot be read: {error}") from error


def read_overlap(word: str) -> Overlap:
    """A policy by its name. Raises `UsageError`."""
    return _choose(word, get_args(Overlap), "runs that overlap")


def read_catch_up(word: str) -> CatchUp:
    """A policy by its name. Raises `UsageError`."""
    return _choose(word, get_args(CatchUp), "times that were missed")


def _choose(word: str, known: tuple[T, ...], what: str) -> T:
    for one in known:
        if one == word:
            return one
    raise UsageError(
        f"`{shorten(word)}` is not a policy for {what}; there are: {', '.join(known)}",
        suggestions=[hint] if (hint := did_you_mean(word, known)) else [],
    )
