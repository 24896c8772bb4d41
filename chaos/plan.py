"""What is done to a place, and when: all of it follows from a seed."""

from __future__ import annotations

import random
from typing import NamedTuple

KILL, DOUBLE, TEMPORAL, POSTGRES = "worker killed", "double fault", "Temporal killed", "Postgres stopped"


class Fault(NamedTuple):
    """Something that is done: after `delay` seconds, to the worker `victim`; what was stopped is away for `away`.

    In a double fault, so much time is between that a worker wakes and that the other is killed.
    """

    kind: str
    delay: float
    victim: int = 0
    away: float = 0.0


class Size(NamedTuple):
    """How much is done, by how many workers, with how many runs at a time."""

    kills: int = 200
    doubles: int = 20
    temporal: int = 10
    postgres: int = 10
    workers: int = 3
    runs: int = 8

    @property
    def counts(self) -> dict[str, int]:
        """How often each kind is done."""
        return {KILL: self.kills, DOUBLE: self.doubles, TEMPORAL: self.temporal, POSTGRES: self.postgres}


FULL = Size()
SHORT = Size(kills=6, doubles=1, temporal=1, postgres=1, workers=2, runs=4)

_DELAYS = {KILL: (0.2, 2.5), DOUBLE: (0.5, 2.0), TEMPORAL: (1.0, 3.0), POSTGRES: (1.0, 3.0)}
_AWAY = {DOUBLE: (0.0, 0.3), TEMPORAL: (0.0, 2.0), POSTGRES: (0.0, 1.0)}
"""In leases."""


def make_plan(seed: int, size: Size, lease: float) -> dict[str, list[Fault]]:
    """The faults of each kind, in order. The same seed gives the same."""
    chance = random.Random(seed)
    return {
        kind: [
            Fault(
                kind,
                delay=round(chance.uniform(*_DELAYS[kind]), 3),
                victim=chance.randrange(size.workers),
                away=round(chance.uniform(*_AWAY.get(kind, (0.0, 0.0))) * lease, 3),
            )
            for _ in range(count)
        ]
        for kind, count in size.counts.items()
    }
