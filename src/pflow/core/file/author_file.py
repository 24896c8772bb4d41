"""Writes files that a person works on, wherever they lie: at once, with the permissions that they had."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pflow.core.errors import StorageError
from pflow.core.file.os_call import storage_error

_READ_AND_WRITE = 0o664
_EVERYTHING = 0o775


def replace_file(path: Path, before: bytes, after: bytes) -> None:
    """Make the file, also behind a link, hold `after`; raises `StorageError` if it no longer holds `before`."""
    target = path.resolve()
    try:
        if target.read_bytes() != before:
            raise StorageError(f"`{path}` has changed meanwhile, and was left as it is", suggestions=["try again"])
        mode = stat.S_IMODE(target.stat().st_mode)
        if not os.access(target, os.W_OK):
            raise StorageError(f"`{path}` is read-only", suggestions=["make it writable, or leave it as it is"])
        _put(target, after, mode)
    except OSError as error:
        raise storage_error("write", path, error) from error


def write_file(path: Path, data: bytes) -> None:
    """Make a file, also behind a link, hold `data`; after a crash it holds that, or what it held before.

    A new one is as open to others as the directory that it is in, but that only its owner and group may write to it; so
    are directories that are made for it.
    """
    target = path.resolve()
    try:
        _make_folder(target.parent)
        found = target if target.exists() else target.parent
        _put(target, data, stat.S_IMODE(found.stat().st_mode) & _READ_AND_WRITE)
    except OSError as error:
        raise storage_error("write", path, error) from error


def _make_folder(path: Path) -> None:
    if path.exists():
        return
    _make_folder(path.parent)
    path.mkdir(exist_ok=True, mode=0o700)
    path.chmod(stat.S_IMODE(path.parent.stat().st_mode) & _EVERYTHING)


def _put(target: Path, data: bytes, mode: int) -> None:
    temp = target.parent / f".{target.name}.{os.urandom(8).hex()}.tmp"
    try:
        private = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
        with os.fdopen(private, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temp.chmod(mode)
        temp.replace(target)
    finally:
        temp.unlink(missing_ok=True)
