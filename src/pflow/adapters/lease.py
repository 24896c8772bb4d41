"""Proof that the process behind an id still lives: a locked file that the kernel frees with its holder."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from pflow.core.errors import StorageError
from pflow.core.file.atomic import make_folder
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.file.os_call import NOFOLLOW, NONBLOCK, quietly

_SWEPT = 64
"""Files of other owners to look at, at most."""
_HEX = frozenset("0123456789abcdef")


class Lease:
    """Held from its making until `release` or the end of the process, however that ends."""

    def __init__(self, folder: Path) -> None:
        make_folder(folder)
        sweep_leases(folder)
        while True:
            self.owner = os.urandom(16).hex()
            self._path = folder / f"{self.owner}.lock"
            self._fd = open_lock(self._path)
            # A process that looked before the lock was taken may have taken the file for a dead owner's and deleted it.
            if hold_lock(self._fd, self._path, wait=False) and self._is_there():
                return
            os.close(self._fd)

    def release(self) -> None:
        """Release it: from now on the owner counts as dead."""
        quietly(os.unlink, self._path)
        os.close(self._fd)

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._fd), self._path.lstat())
        except FileNotFoundError:
            return False


def is_alive(folder: Path, owner: object) -> bool:
    """Whether the process that holds this lease still runs. A dead one's file is deleted on the way."""
    if not isinstance(owner, str) or len(owner) != 32 or not _HEX.issuperset(owner):
        return False
    path = folder / f"{owner}.lock"
    try:
        fd = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK)
    except OSError:
        return False
    try:
        # Shared, so that two processes that look at the same moment do not take each other for the owner.
        if not hold_lock(fd, path, wait=False, shared=True):
            return True
        quietly(os.unlink, path)
        return False
    except StorageError:
        return True  # without locks there is no telling, and taking a run from a living owner would be worse
    finally:
        os.close(fd)


def sweep_leases(folder: Path) -> None:
    """Delete the files of some dead owners."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _SWEPT)]
    except OSError:
        return
    for name in names:
        is_alive(folder, name.removesuffix(".lock"))
