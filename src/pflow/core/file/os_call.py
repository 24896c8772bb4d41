"""The calls that change files, and what it means when they fail; decides nothing about contents."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any, Protocol

from pflow.core.errors import SecurityError, StorageError

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK = getattr(os, "O_NONBLOCK", 0)
BINARY = getattr(os, "O_BINARY", 0)

_CHUNK_BYTES = 1 << 16

LINK_ERRORS = (errno.ELOOP, errno.EMLINK, errno.ENXIO)
"""Error numbers of opening a link, or a pipe or socket that no process serves."""


class Calls(Protocol):
    """The calls that change files. `os` is the real one; a test passes one that fails, tears or kills."""

    def open(self, path: Path, flags: int, mode: int = ..., /) -> int:
        """See `os.open`, and so on for the others."""

    def write(self, fd: int, data: memoryview, /) -> int: ...
    def fsync(self, fd: int, /) -> None: ...
    def close(self, fd: int, /) -> None: ...
    def replace(self, source: Path, target: Path, /) -> None: ...
    def unlink(self, path: Path, /) -> None: ...
    def mkdir(self, path: Path, mode: int, /) -> None: ...


def open_at_once(path: Path, flags: int = 0) -> FileIO:
    """Open a file for reading; a pipe or a device is opened without waiting for it."""
    return open(path, "rb", buffering=0, opener=lambda name, given: os.open(name, given | NONBLOCK | flags))


def read_up_to(file: FileIO, limit: int) -> bytes | None:
    """All bytes of a file; None if there are more than `limit`. A file may be longer than it says, and grow."""
    data = b""
    size = os.fstat(file.fileno()).st_size
    while max(size, len(data)) <= limit:
        chunk = file.read(max(size, _CHUNK_BYTES) + 1)
        if not chunk:
            return data
        data += chunk
    return None


def is_own_file(found: os.stat_result) -> bool:
    """Whether a file is a regular one that no other name leads to."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def storage_error(doing: str, path: Path, error: OSError) -> StorageError:
    """An operating system's refusal, with the file that it is about and what may help."""
    code = error.errno or 0
    reason = (error.strerror or str(error)).lower()
    if code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "free some space, or set PFLOW_HOME to a directory on another disk"
    elif code in (errno.EROFS, errno.EACCES, errno.EPERM):
        advice = f"make `{path.parent}` writable for you, or set PFLOW_HOME to a directory that is"
    elif code in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
        advice = "this file system has no locks; set PFLOW_HOME to a directory on a local disk"
    elif code in (errno.EMFILE, errno.ENFILE):
        advice = "too many files are open; close some programs or raise `ulimit -n`"
    else:
        advice = f"check `{path.parent}` and its disk"
    return StorageError(
        f"cannot {doing} `{path}`: {reason}",
        details={"file": str(path), "errno": errno.errorcode.get(code, code)},
        suggestions=[advice],
    )


def not_regular(path: Path) -> SecurityError:
    """The refusal of something that stands where a file of pflow's should."""
    return SecurityError(
        f"`{path.name}` in pflow's home is a link or not a regular file; pflow does not follow it",
        suggestions=[f"replace `{path.name}` with a regular file"],
    )


def quietly(call: Callable[[Any], object], argument: object) -> None:
    """Clean up after a failure that is already being reported."""
    try:
        call(argument)
    except OSError:
        return
