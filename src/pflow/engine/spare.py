"""A child process that is started ahead and waits for its input: what a process that lives long keeps at hand."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pflow.core.errors import StepError
from pflow.engine.guardian import GUARDIAN
from pflow.engine.spawn import spawn


class Spawned(NamedTuple):
    """A child, and our ends of its stdin, stdout and stderr."""

    popen: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int


class Spare:
    """At most one child in waiting. It is used once, by who would start the very same; nobody waits for it."""

    def __init__(self) -> None:
        self._waiting: Spawned | None = None
        self._made_for: tuple[object, ...] = ()
        self._closed = False

    def prepare(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Have such a child waiting, in the folder that is the current one now. If it cannot start, there is none."""
        if self._waiting is not None or self._closed:
            return
        wanted = _key(argv, env)
        try:
            self._waiting = Spawned(*spawn(argv, True, env, None))
        except StepError:
            return
        self._made_for = wanted

    def take(self, argv: Sequence[str], env: Mapping[str, str]) -> Spawned | None:
        """The child in waiting, if it is such a one and alive."""
        child, self._waiting = self._waiting, None
        if child is None:
            return None
        if self._made_for == _key(argv, env) and child.popen.poll() is None:
            return child
        _end(child)
        return None

    def close(self) -> None:
        """End the child in waiting; none will be started any more."""
        self._closed = True
        child, self._waiting = self._waiting, None
        if child is not None:
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
