"""Directories that stay open while a step works in them, so that nobody can swap what was checked for a link.

A real path is walked from the root, one directory after the other, and no link is followed on the way: a link that
was not there when the path was resolved is a refusal. Windows has no such calls; there, paths are used.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from pflow.core.errors import SecurityError
from pflow.core.file.atomic import sync_names
from pflow.core.file.os_call import BINARY, NOFOLLOW, NONBLOCK
from pflow.nodes.file.policy import Identity, check_change, check_opened, check_read, identity, real_path

_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_WALK = os.O_RDONLY | NOFOLLOW | _DIRECTORY | getattr(os, "O_PATH", 0)

Check = Callable[[frozenset[Identity]], None]
"""Raises if the directories that have been met so far lead to a protected place."""


class Directory(NamedTuple):
    """An open directory: where it was found, and the directories on the way to it, itself included."""

    path: str
    fd: int | None
    met: frozenset[Identity]

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a file of this directory; never a link, and never waiting for a pipe."""
        try:
            return os.open(self._at(name), flags | NOFOLLOW | NONBLOCK | BINARY, mode, dir_fd=self.fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise _swapped(os.path.join(self.path, name)) from error  # noqa: PTH118
            raise

    def look(self, name: str) -> os.stat_result | None:
        """What a name stands for, links not followed; None if there is nothing."""
        try:
            return os.stat(self._at(name), dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def replace(self, old: str, target: Directory, new: str) -> None:
        """Move a file of this directory to another one, over what is there."""
        os.replace(self._at(old), target._at(new), src_dir_fd=self.fd, dst_dir_fd=target.fd)

    def unlink(self, name: str) -> None:
        """Delete a file, or a link itself."""
        os.unlink(self._at(name), dir_fd=self.fd)

    def is_writable(self, name: str) -> bool:
        """Whether a file of this directory may be written to."""
        return os.access(self._at(name), os.W_OK, dir_fd=self.fd)

    def sync(self) -> None:
        """Make the names durable."""
        if self.fd is not None:
            fd = os.open(".", os.O_RDONLY, dir_fd=self.fd)
            try:
                sync_names(fd)
            finally:
                os.close(fd)

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name) if self.fd is None else name  # noqa: PTH118


@contextmanager
def open_directory(path: str, make: Check | None = None) -> Iterator[Directory]:
    """The directory at the real path `path`. Missing ones are made if `make` does not raise."""
    if sys.platform == "win32":
        if make is not None:
            os.makedirs(path, exist_ok=True)  # noqa: PTH103
        yield Directory(path, None, frozenset())
        return
    fd = os.open("/", _WALK)
    try:
        met = {identity(os.fstat(fd))}
        for name in filter(None, path.split("/")):
            deeper = _step(fd, name, path, partial(make, frozenset(met)) if make else None)
            os.close(fd)
            fd = deeper
            met.add(identity(os.fstat(fd)))
        yield Directory(path, fd, frozenset(met))
    finally:
        os.close(fd)


def _step(fd: int, name: str, path: str, make: Callable[[], None] | None) -> int:
    """The directory `name` in the open one `fd`, made if it is missing and `make` does not raise."""
    while True:
        try:
            return os.open(name, _WALK, dir_fd=fd)
        except FileNotFoundError:
            if make is None:
                raise
            make()
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
        except OSError as error:
            if stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                raise _swapped(path) from error
            raise


@contextmanager
def open_to_read(doing: str, path: str) -> Iterator[int]:
    """A descriptor of the file that `path` leads to, which steps may read; not yet known to be a regular file."""
    real = real_path(path)
    check_read(doing, real)
    folder, name = os.path.split(real)
    with open_directory(folder) as directory:
        # A final slash asks for a directory.
        fd = directory.open(name or ".", os.O_RDONLY | (_DIRECTORY if path.endswith("/") else 0))
        try:
            found = os.fstat(fd)
            check_read(doing, real, directory.met | {identity(found)})
            check_opened(doing, real, found)
            yield fd
        finally:
            os.close(fd)


@contextmanager
def open_to_change(doing: str, real: str, *, make: bool = False) -> Iterator[tuple[Directory, str]]:
    """The directory of the real path `real` and the name in it, which steps may change."""
    check_change(doing, real)
    folder, name = os.path.split(real)
    with open_directory(folder, (lambda met: check_change(doing, real, met)) if make else None) as directory:
        found = directory.look(name or ".")
        check_change(doing, real, directory.met | ({identity(found)} if found else set()))
        yield directory, name or "."


def _swapped(path: str) -> SecurityError:
    """For a path that leads elsewhere than it did a moment ago; raises `OSError` for links that form a loop."""
    os.stat(path)  # noqa: PTH116
    return SecurityError(
        "refused: a part of the path became a link while the step worked with it",
        suggestions=["make sure that no other program changes this path, and resume"],
    )
