"""The process group of a child: notices when its leader exits, and ends all of it. Pipes are not its concern."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable

from pflow.process.guardian import GUARDIAN
from pflow.process.spawn import Child

_SHORTEST_SECONDS, _LONGEST_SECONDS = 0.0005, 0.05
"""Pauses between two looks at a group."""

_DEATH_SECONDS = 10.0
"""How long a killed group may take to be gone. Only a busy machine or a device that hangs can delay it."""


class Group:
    """A running child that leads a group of its own. `exit_code` is −N when signal N ended it; None when unknown."""

    def __init__(self, popen: Child) -> None:
        self.pid = popen.pid
        self.exit_code: int | None = None
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._reaped = False
        self._ended = False
        self._exit_fd = -1
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, exited: Callable[[], None]) -> None:
        """Have `exited` called, once, when the leader exits."""
        try:
            self._exit_fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            self._poll_exit(exited, _SHORTEST_SECONDS)
        else:
            self._loop.add_reader(self._exit_fd, self._exit, exited)

    async def end(self, grace: float) -> None:
        """SIGTERM, and SIGKILL after `grace` seconds or a cancellation; returns when the group is gone.

        A cancellation meanwhile is raised when that is done.
        """
        if self._ended:
            return
        cancelled = False
        for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, max(grace, _DEATH_SECONDS))):
            # An exited leader is not waited for before its first signal: until then the number is its group's.
            self.signal(number)
            until, pause = self._loop.time() + patience, _SHORTEST_SECONDS
            while not (gone := self.is_gone(pause >= _LONGEST_SECONDS)) and self._loop.time() < until:
                try:
                    await asyncio.sleep(pause)
                except asyncio.CancelledError:
                    cancelled = True
                    if number == signal.SIGTERM:
                        break
                pause = min(pause * 2, _LONGEST_SECONDS)
            if gone:
                break
        self._ended = True
        if cancelled:
            raise asyncio.CancelledError

    def terminate(self) -> None:
        """Send SIGTERM, and learn the leader's exit code if it has exited."""
        self.signal(signal.SIGTERM)
        self.is_gone(False)

    def abandon(self) -> None:
        """End the group at once, for when the loop is closing and nothing can be awaited."""
        self.signal(signal.SIGKILL)
        for _ in range(100):
            if self.is_gone(False):
                break
            time.sleep(_SHORTEST_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, unless it is known to be gone: another group may have its number by now."""
        if self._ended:
            return
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def forget(self) -> None:
        """Release everything that is held for the group."""
        if self._timer is not None:
            self._timer.cancel()
        self._close_exit()
        GUARDIAN.remove(self.pid)

    def reap(self) -> None:
        """Collect, without blocking, the exit status of the leader and of orphans of its group that became ours."""
        try:
            while (found := os.waitpid(-self.pid, os.WNOHANG))[0]:
                if found[0] == self.pid:
                    self._reaped = True
                    self.exit_code = self._popen.returncode = os.waitstatus_to_exitcode(found[1])
        except ChildProcessError:
            if isinstance(self._popen, subprocess.Popen):
                self._reaped = True
                if self._popen.returncode is None:
                    self._popen.returncode = 0  # someone else collected it; Popen would assume the same
        if not self._reaped and not isinstance(self._popen, subprocess.Popen):
            self.exit_code = self._popen.poll()
            self._reaped = self.exit_code is not None

    def is_gone(self, thorough: bool) -> bool:
        """Whether no process of the group is alive; a `thorough` look does not count zombies."""
        self.reap()
        if not self._reaped:
            return False
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            self._ended = True
            return True
        except PermissionError:
            return False
        if not thorough or not _is_dead(self.pid):
            return False
        self.signal(signal.SIGKILL)  # for what was forked while we looked
        return True

    def _exit(self, exited: Callable[[], None]) -> None:
        self._close_exit()
        exited()

    def _poll_exit(self, exited: Callable[[], None], pause: float) -> None:
        self.reap()
        if self._reaped:
            exited()
        else:
            self._timer = self._loop.call_later(pause, self._poll_exit, exited, min(pause * 2, _LONGEST_SECONDS))

    def _close_exit(self) -> None:
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1


def _is_dead(group: int) -> bool:
    """Whether a group has only zombies left, which stay if no process collects orphans."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return False
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                state, _, own = file.read().rpartition(b")")[2].split(maxsplit=3)[:3]
        except (OSError, ValueError):
            continue
        if int(own) == group and state not in (b"Z", b"X"):
            return False
    return bool(pids)
