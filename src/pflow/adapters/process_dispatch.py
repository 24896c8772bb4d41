"""The dispatch of one machine: the daemon of the home drives a run if it can, else a process of its own does."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pflow.adapters.driver_mark import find_daemon, is_driven
from pflow.adapters.handover import make_due
from pflow.core.errors import RunError
from pflow.core.file.home import Home
from pflow.core.project.search import current_directory
from pflow.engine.ports import ALL_RECORDED, Journal, Unrecorded

if TYPE_CHECKING:
    from pflow.adapters.driving_process import DrivingProcesses

_TAKING_SECONDS = 5.0
"""How long the daemon may take to take up a run before it is left to it."""

_LOOK_SECONDS = 0.02


class ProcessDispatch:
    """See `pflow.engine.ports.Dispatch`. The daemon looks at the journal by itself, so nothing has to be sent to it."""

    def __init__(self, home: Home, journal: Journal, processes: Callable[[], DrivingProcesses]) -> None:
        self._home = home
        self._journal = journal
        self._processes = processes

    def submit(self, run_id: str, unrecorded: Unrecorded = ALL_RECORDED) -> None:
        """Leave the run to the daemon, or start a process for it.

        The daemon has an environment of its own, and its runs share its directory. It gets a run that needs nothing but
        what is recorded, from a caller who is in the same directory.
        """
        self._journal.info(run_id)
        if unrecorded != ALL_RECORDED or not self._leave_to_daemon(run_id):
            self._processes().start(run_id, unrecorded, stays=True)

    def answer(self, run_id: str) -> None:
        """Start a process if nobody would look at the run's mail."""
        if self._journal.info(run_id).status == "waiting" and not self.is_driven():
            with suppress(RunError):  # what was delivered stays where it is
                self._processes().start(run_id, stays=True)

    def cancel(self, run_id: str) -> None:
        """Whoever drives the run looks for requests by itself."""

    def end(self, run_id: str) -> bool:
        """The caller is on the same machine, and does it."""
        return False

    def is_driven(self) -> bool:
        """Whether a daemon or a server is there that takes up what is due."""
        return is_driven(self._home)

    def close(self) -> None:
        """It holds nothing: processes that drive runs live on."""

    def _leave_to_daemon(self, run_id: str) -> bool:
        """Whether the daemon takes the run up; one that ends meanwhile does not."""
        daemon = find_daemon(self._home)
        if daemon is None or daemon.directory != str(current_directory()):
            return False
        make_due(self._journal, run_id)
        until = time.monotonic() + _TAKING_SECONDS
        while self._journal.info(run_id).status == "waiting" and time.monotonic() < until:
            if find_daemon(self._home) is None:
                return False
            time.sleep(_LOOK_SECONDS)
        return True
