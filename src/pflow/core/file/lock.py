"""Advisory locks on separate files; the kernel releases them when their holder dies."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from pflow.core.file.os_call import LINK_ERRORS, NOFOLLOW, NONBLOCK, Calls, not_regular, storage_error

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def open_lock(lock: Path, *, calls: Calls = os) -> int:
    """A descriptor of a lock file, which is made if there is none."""
    try:
        fd = calls.open(lock, os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK, 0o600)
    except OSError as error:
        if error.errno in LINK_ERRORS:
            raise not_regular(lock) from None
        raise storage_error("lock", lock, error) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise not_regular(lock)
    return fd


def hold_lock(fd: int, lock: Path, *, wait: bool = True, shared: bool = False) -> bool:
    """Take the lock of `fd`; false if another process holds it and we do not wait."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise storage_error("lock", lock, error) from error
    return True
