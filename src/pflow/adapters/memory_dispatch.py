"""A dispatch that starts nothing: the twin of the real one, for tests and programs that drive runs themselves."""

from __future__ import annotations

from pflow.adapters.handover import make_due
from pflow.engine.ports import ALL_RECORDED, Journal, Unrecorded


class MemoryDispatch:
    """See `pflow.engine.ports.Dispatch`. What it is asked for is kept; whoever drives finds the runs in the journal."""

    def __init__(self, journal: Journal) -> None:
        self.submitted: dict[str, Unrecorded] = {}
        self.answered: list[str] = []
        self.cancelled: list[str] = []
        self.driven = False
        self._journal = journal

    def submit(self, run_id: str, unrecorded: Unrecorded = ALL_RECORDED) -> None:
        """Make the run due, and keep what it needs beside the journal."""
        make_due(self._journal, run_id)
        self.submitted[run_id] = unrecorded

    def answer(self, run_id: str) -> None:
        """Note it: mail makes a run due by itself."""
        self.answered.append(run_id)

    def cancel(self, run_id: str) -> None:
        """Note it: the owner looks for requests by itself."""
        self.cancelled.append(run_id)

    def end(self, run_id: str) -> bool:
        """The caller is on the same machine, and does it."""
        return False

    def is_driven(self) -> bool:
        """Whatever `driven` says."""
        return self.driven

    def close(self) -> None:
        """It holds nothing."""
