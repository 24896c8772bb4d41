"""Marks by which processes see who drives the runs of a home; the kernel takes them away with their holder."""

from __future__ import annotations

import os
from collections.abc import Iterator

import orjson

from pflow.adapters.lease import Lease, is_alive
from pflow.core.errors import PflowError, UsageError
from pflow.core.file.atomic import make_folder, parse_object, read_private
from pflow.core.file.home import Home
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.frozen import Frozen

_MOST_BYTES = 1 << 16


class Daemon(Frozen):
    """A daemon that takes up runs: its process, and the directory that it is in."""

    pid: int
    directory: str


class DaemonMark:
    """Held by the one daemon of a home. Raises `UsageError` if there is one already, naming its process."""

    def __init__(self, home: Home, directory: str) -> None:
        make_folder(home.root)
        self._fd = open_lock(home.daemon)
        if not hold_lock(self._fd, home.daemon, wait=False):
            os.close(self._fd)
            pid = _read(home).get("pid")
            shown = f", process `{pid}`" if isinstance(pid, int) else ""
            raise UsageError(
                f"`{home.root}` already has a daemon{shown}",
                suggestions=["leave it running: it drives all runs of this home", "or end it first, with SIGTERM"],
            )
        self._lease: Lease | None = Lease(home.drivers)
        facts = {"pid": os.getpid(), "lease": self._lease.owner, "directory": directory}
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, orjson.dumps(facts), 0)

    def retire(self) -> None:
        """Take up no more runs; while those that were taken up end, there is still no other daemon."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def release(self) -> None:
        """Make room for another daemon."""
        self.retire()
        os.close(self._fd)


def find_daemon(home: Home) -> Daemon | None:
    """The daemon that takes up runs of a home; None without one."""
    match _read(home):
        case {"pid": int(pid), "lease": str(lease), "directory": str(directory)} if is_alive(home.drivers, lease):
            return Daemon(pid=pid, directory=directory)
    return None


def is_driven(home: Home) -> bool:
    """Whether any process takes up runs of a home."""
    return any(is_alive(home.drivers, owner) for owner in _owners(home))


def _owners(home: Home) -> Iterator[str]:
    try:
        with os.scandir(home.drivers) as entries:
            yield from (entry.name.removesuffix(".lock") for entry in entries)
    except OSError:
        return


def _read(home: Home) -> dict[str, object]:
    try:
        return parse_object(read_private(home.daemon, _MOST_BYTES)) or {}
    except PflowError:
        return {}
