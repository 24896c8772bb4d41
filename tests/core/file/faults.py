"""File calls that fail at the nth one, as a full disk, a dying one or a kill would."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path


class Faulty:
    """`os`, but for its nth call. `reached` tells whether there was one."""

    def __init__(self, nth: int, fault: Callable[[], None]) -> None:
        self._left = nth
        self._fault = fault
        self.reached = False

    def open(self, path: Path, flags: int, mode: int = 0o777) -> int:
        self._count()
        return os.open(path, flags, mode)

    def write(self, fd: int, data: memoryview) -> int:
        self._left -= 1
        if self._left == 0:
            self.reached = True
            os.write(fd, data[: len(data) // 2])
            self._fault()
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        self._count()
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)  # a failed close has closed, too
        self._count()

    def replace(self, source: Path, target: Path) -> None:
        self._count()
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        self._count()
        os.unlink(path)

    def mkdir(self, path: Path, mode: int) -> None:
        self._count()
        os.mkdir(path, mode)

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.reached = True
            self._fault()


def failing(code: int) -> Callable[[], None]:
    """A fault that the operating system reports."""

    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


def kill() -> None:
    """A fault that nobody can report."""
    os.kill(os.getpid(), signal.SIGKILL)


ERRNOS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT]
