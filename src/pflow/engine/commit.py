"""Lets everything that is emitted in one turn of the event loop, by whichever run, become durable together."""

from __future__ import annotations

import asyncio
from typing import Protocol

from pflow.core.errors import PflowError
from pflow.engine.ports import Journal


class Writer(Protocol):
    """A run with events to write."""

    def write(self) -> None:
        """Append what waits; what goes wrong is this run's own matter."""

    def settle(self, failure: PflowError | None) -> None:
        """It is durable, or, with a failure, it is not: tell whoever waits."""


class Commits:
    """The commits of one executor. `runs` counts those under way: a run that is alone need not wait for others."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._writers: list[Writer] = []
        self.runs = 0

    def join(self, writer: Writer) -> None:
        """Have `writer` written at the end of this turn of the loop."""
        if not self._writers:
            asyncio.get_running_loop().call_soon(self._flush)
        self._writers.append(writer)

    def _flush(self) -> None:
        writers, self._writers = self._writers, []
        failure: PflowError | None = None
        try:
            if len(writers) == 1:
                writers[0].write()
            else:
                with self._journal.together():
                    for writer in writers:
                        writer.write()
        except PflowError as error:
            failure = error
        for writer in writers:
            writer.settle(failure)
