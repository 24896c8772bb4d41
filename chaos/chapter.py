"""What came of one kind of fault."""

from __future__ import annotations

import statistics
from typing import NamedTuple

from chaos.judge import Verdict


class Chapter(NamedTuple):
    """Faults of one kind that were done, of those `planned`, and the runs that were under way meanwhile.

    `hit` counts the runs that were driven by what was killed, once for each time. `recoveries` are in leases: from a
    kill to the next effect of a run that it hit.
    """

    kind: str
    faults: int
    planned: int
    verdict: Verdict
    asked: int = 0
    hit: int = 0
    recoveries: tuple[float, ...] = ()
    seconds: float = 0.0

    @property
    def median(self) -> float | None:
        """The middle one of the recoveries."""
        return statistics.median(self.recoveries) if self.recoveries else None
