"""How long the runs of a list were worked on: read from their journals once, and remembered."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pflow.workspace import RunInfo, Workspace

_MOST_SECONDS = 0.25
"""What one list may spend on reading; it is shown again with every change."""

_MOST_KEPT = 10_000


class WorkedTimes:
    """Milliseconds by run. Where there was no time to read a very long run, it is the time from start to end."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, float], float] = {}

    def of(self, workspace: Workspace, runs: Iterable[RunInfo]) -> dict[str, float]:
        """Those of these runs that have ended."""
        if len(self._known) > _MOST_KEPT:
            self._known.clear()
        until = time.monotonic() + _MOST_SECONDS
        found: dict[str, float] = {}
        for info in runs:
            if info.ended_at is None:
                continue
            key = info.run_id, info.ended_at
            if key not in self._known and time.monotonic() < until:
                self._known[key] = workspace.worked([info]).get(info.run_id, info.ended_at - info.started_at)
            found[info.run_id] = round(self._known.get(key, info.ended_at - info.started_at) * 1000, 3)
        return found
