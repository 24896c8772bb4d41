"""Child processes that are started ahead and wait for their input, for a pflow process that lives long."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from pflow.core.errors import StepError
from pflow.process.guardian import GUARDIAN
from pflow.process.spawn import Spawned, spawn


class Standby:
    """A few identical children that wait. Each is used once, by a caller that would start the same command.

    It serves where `fork_server.py` cannot.
    """

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._waiting: list[Spawned] = []
        self._made_for: tuple[object, ...] = ()
        self._wanted: tuple[Sequence[str], Mapping[str, str]] | None = None
        self._closed = False

    def want(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Note that such a child was used just now. If none is left, start another at once; else `refill` will."""
        self._wanted = [*argv, "ready"], env
        if not self._waiting:
            self.refill()

    def refill(self) -> None:
        """Start children until enough are waiting, in what is now the current directory.

        To be called when there is time: starting them competes with everything else that runs.
        """
        if self._wanted is None:
            return
        argv, env = self._wanted
        wanted = _key(argv, env)
        if wanted != self._made_for:
            self._end_all()
            self._made_for = wanted
        while len(self._waiting) < self._most and not self._closed:
            try:
                self._waiting.append(spawn(argv, True, env, None))
            except StepError:
                return

    def take(self, argv: Sequence[str], env: Mapping[str, str]) -> Spawned | None:
        """The child that has waited longest, if there is one for this command that is alive."""
        if self._made_for != _key([*argv, "ready"], env):
            self._end_all()
        while self._waiting:
            child = self._waiting.pop(0)
            if child.popen.poll() is None:
                return child
            _end(child)
        return None

    def close(self) -> None:
        """End the waiting children and start no more."""
        self._closed = True
        self._end_all()

    def _end_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for child in waiting:
            _end(child)


def _key(argv: Sequence[str], env: Mapping[str, str]) -> tuple[object, ...]:
    try:
        directory = os.stat(".")  # noqa: PTH116 a Path would cost every step more
    except OSError:
        return (object(),)  # the current directory is gone; no two children start alike
    return tuple(argv), dict(env), directory.st_dev, directory.st_ino


def _end(child: Spawned) -> None:
    try:
        os.killpg(child.popen.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if isinstance(child.popen, subprocess.Popen):
        child.popen.wait()
    GUARDIAN.remove(child.popen.pid)
    for fd in child[1:]:
        os.close(fd)
