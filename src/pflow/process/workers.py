"""Child processes that are at hand before a step needs them, in the way that this system has for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pflow.process.fork_server import IS_POSSIBLE, ForkServer
from pflow.process.spawn import Spawned
from pflow.process.standby import Standby

_WORTH_A_SERVER = 3
"""Steps after which a process that ends with its run expects more; starting a server costs as much as three of them."""


class Workers(Protocol):
    """Children of one command, each used once. The command must be prepared for being started ahead."""

    def take(self, argv: Sequence[str], env: Mapping[str, str]) -> Spawned | None:
        """A child that waits for its input, if one is at hand; without one, the caller starts the command."""

    def want(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Note that such a child was used just now."""

    def refill(self) -> None:
        """Start what was wanted and is not there; to be called when there is time."""

    def close(self) -> None:
        """End what waits and start no more."""


def make_workers(*, lives_long: bool) -> Workers | None:
    """For a process that lives on after a run, or for one that ends with it."""
    if IS_POSSIBLE:
        return ForkServer(after=1 if lives_long else _WORTH_A_SERVER)
    return Standby() if lives_long else None
