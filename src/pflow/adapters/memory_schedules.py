"""Schedules that last as long as their store: the twin of those on disk, for tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import TYPE_CHECKING

from pflow.core.errors import StorageError
from pflow.core.schedule.name import name_taken, no_such_schedule
from pflow.engine.ports import OPEN, Tick

if TYPE_CHECKING:
    from pflow.core.schedule.policy import Outcome


class ScheduleStore:
    """What several of them can share, as processes share a file."""

    def __init__(self) -> None:
        self.schedules: dict[str, bytes] = {}
        self.ticks: dict[tuple[str, float], Tick] = {}
        self.alive: set[str] = set()


class MemorySchedules:
    """See `pflow.engine.ports.Schedules`."""

    def __init__(self, store: ScheduleStore | None = None) -> None:
        self.store = store or ScheduleStore()
        self._owner = os.urandom(16).hex()
        self._closed = False
        self.store.alive.add(self._owner)

    def add(self, name: str, data: bytes) -> None:
        """Store a schedule under a new name."""
        self._check_open()
        if name in self.store.schedules:
            raise name_taken(name)
        self.store.schedules[name] = data

    def all(self) -> Mapping[str, bytes]:
        """Every schedule, by name."""
        self._check_open()
        return dict(sorted(self.store.schedules.items()))

    def change(self, name: str, change: Callable[[bytes], bytes]) -> None:
        """Replace a schedule by what `change` makes of it."""
        self._check_open()
        if name not in self.store.schedules:
            raise no_such_schedule(name, self.store.schedules)
        self.store.schedules[name] = change(self.store.schedules[name])

    def remove(self, name: str) -> None:
        """Forget a schedule and its due times."""
        self._check_open()
        if self.store.schedules.pop(name, None) is None:
            raise no_such_schedule(name, self.store.schedules)
        for key in [key for key in self.store.ticks if key[0] == name]:
            del self.store.ticks[key]

    def together(self) -> AbstractContextManager[None]:
        """Memory needs no transactions."""
        return nullcontext()

    def put(self, tick: Tick, seen: Tick | None = None) -> bool:
        """Store what became of a due time, if nothing else is stored for it than what was seen."""
        self._check_open()
        key = (tick.schedule, tick.due)
        if not is_same(self.store.ticks.get(key), seen):
            return False
        owner = self._owner if tick.outcome == "claimed" else ""
        self.store.ticks[key] = tick._replace(owner=owner, alive=False)
        return True

    def ticks(
        self,
        schedule: str | None = None,
        *,
        since: float | None = None,
        outcomes: Iterable[Outcome] = (),
        limit: int | None = None,
    ) -> Sequence[Tick]:
        """Due times, the last first."""
        self._check_open()
        wanted = frozenset(outcomes)
        found = (
            tick._replace(alive=tick.owner in self.store.alive)
            for _, tick in sorted(self.store.ticks.items(), key=lambda item: item[0][1], reverse=True)
            if schedule in (None, tick.schedule)
            and (since is None or tick.due > since)
            and (not wanted or tick.outcome in wanted)
        )
        return list(islice(found, limit))

    def started(self, run_ids: Iterable[str]) -> Mapping[str, Tick]:
        """Which of these runs a schedule started."""
        wanted = frozenset(run_ids) - {""}
        return {tick.run_id: tick for tick in self.ticks() if tick.run_id in wanted}

    def forget(self, before: float) -> None:
        """Drop due times before a moment that are done with."""
        for tick in self.ticks():
            if tick.due < before and tick.outcome not in OPEN:
                del self.store.ticks[tick.schedule, tick.due]

    def close(self) -> None:
        """Let go of the claims."""
        self._closed = True
        self.store.alive.discard(self._owner)

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the journal is closed")


def is_same(stored: Tick | None, seen: Tick | None) -> bool:
    """Whether what is stored is what was seen, as far as others change it."""
    if stored is None or seen is None:
        return stored is seen
    return (stored.outcome, stored.run_id, stored.owner) == (seen.outcome, seen.run_id, seen.owner)
