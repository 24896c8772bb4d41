"""Child processes that are started ahead and wait for their input: what a process that lives long keeps at hand."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pflow.core.errors import StepError
from pflow.process.guardian import GUARDIAN
from pflow.process.spawn import spawn


class Spawned(NamedTuple):
    """A child, and our ends of its stdin, stdout and stderr."""

    popen: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int


class Standby:
    """A few children in waiting, all alike. Each is used once, by who would start the very same."""

    def __init__(self, most: int = 2) -> None:
        self._most = most
        self._waiting: list[Spawned] = []
        self._made_for: tuple[object, ...] = ()
        self._wanted: tuple[Sequence[str], Mapping[str, str]] | None = None
        self._closed = False

    def want(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Such a child was used just now. If none is left another is started at once, else `refill` sees to it."""
        self._wanted = argv, env
        if not self._waiting:
            self.refill()

    def refill(self) -> None:
        """Have children waiting again, in the folder that is the current one now; as many as can be started.

        For when there is time: starting them competes with whatever else runs.
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
                self._waiting.append(Spawned(*spawn(argv, True, env, None)))
            except StepError:
                return

    def take(self, argv: Sequence[str], env: Mapping[str, str]) -> Spawned | None:
        """The child that has waited longest, if it is such a one and alive."""
        if self._made_for != _key(argv, env):
            self._end_all()
        while self._waiting:
            child = self._waiting.pop(0)
            if child.popen.poll() is None:
                return child
            _end(child)
        return None

    def close(self) -> None:
        """End the children in waiting; none will be started any more."""
        self._closed = True
        self._end_all()

    def _end_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        for child in waiting:
            _end(child)


def _key(argv: Sequence[str], env: Mapping[str, str]) -> tuple[object, ...]:
    try:
        folder = os.stat(".")  # noqa: PTH116 a step needs no Path
    except OSError:
        return (object(),)  # the current folder is gone; no two children start alike
    return tuple(argv), dict(env), folder.st_dev, folder.st_ino


def _end(child: Spawned) -> None:
    try:
        os.killpg(child.popen.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.popen.wait()
    GUARDIAN.remove(child.popen.pid)
    for fd in child[1:]:
        os.close(fd)
