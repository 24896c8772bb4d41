"""Makes everything that runs emit in one turn of the event loop durable together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pflow.core.errors import PflowError
from pflow.engine.ports import Journal

if TYPE_CHECKING:
    from pflow.engine.run import Run


class Commits:
    """The commits of one executor. `runs` counts those under way: a run that is alone need not wait for others."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting: list[Run] = []
        self.runs = 0

    def join(self, run: Run) -> None:
        """Have `run` written at the end of this turn of the loop."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting.append(run)

    def _flush(self) -> None:
        runs, self._waiting = self._waiting, []
        failure: PflowError | None = None
        try:
            if len(runs) == 1:
                runs[0].write()
            else:
                with self._journal.together():
                    for run in runs:
                        run.write()
        except PflowError as error:
            failure = error
        for run in runs:
            run.settle(failure)
