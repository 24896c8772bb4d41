"""Files that are never half-written, lost, readable for others or confused with links; knows no contents."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from pflow.core.errors import NotFoundError, SecurityError, StorageError
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.file.os_call import (
    BINARY,
    LINK_ERRORS,
    NOFOLLOW,
    NONBLOCK,
    Calls,
    not_regular,
    quietly,
    storage_error,
)

_TEMP_AGE = 3600.0
_TEMPS_LOOKED_AT = 512

JSON_LIMIT = 64 << 20
"""Bytes of a JSON file of ours; more is a mistake or an attack."""


def write_atomic(path: Path, data: bytes, *, durable: bool = True, calls: Calls = os) -> None:
    """Make `path` hold `data`: after a crash at any point it holds that or what it held before.

    What can be made again from other files need not be `durable`: only a power cut may lose it then, and whoever
    writes many such files sweeps their folder now and then.
    """
    temp: Path | None = None
    fd = -1
    try:
        make_folder(path.parent, calls=calls)
        _check_target(path)
        if durable:
            sweep_temps(path.parent)
        temp = path.parent / f".{path.name}.{os.urandom(8).hex()}.tmp"
        fd = calls.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY, 0o600)
        rest = memoryview(data)
        while rest:
            rest = rest[calls.write(fd, rest) :]
        if durable:
            calls.fsync(fd)
        closing, fd = fd, -1
        calls.close(closing)
        _replace(temp, path, calls)
        temp = None
        if durable:
            sync_folder(path.parent, calls)
    except OSError as error:
        raise storage_error("write", path, error) from error
    finally:
        if fd >= 0:
            quietly(calls.close, fd)
        if temp is not None:
            quietly(calls.unlink, temp)


def remove(path: Path, *, calls: Calls = os) -> None:
    """Delete a file of ours, durably; a `NotFoundError` if it is not there."""
    try:
        calls.unlink(path)
        sync_folder(path.parent, calls)
    except FileNotFoundError:
        raise NotFoundError(f"`{path.name}` does not exist") from None
    except OSError as error:
        raise storage_error("delete", path, error) from error


def make_folder(path: Path, *, calls: Calls = os) -> None:
    """Make a folder and its parents, for this user only; one that exists stays as it is.

    A link to a folder is followed only if nobody else could put files there.
    """
    if check_folder(path):
        return
    make_folder(path.parent, calls=calls)
    try:
        calls.mkdir(path, 0o700)
        sync_folder(path.parent, calls)
    except (FileExistsError, PermissionError) as error:
        # Another process was faster, or the parent may be entered but not listed, and so not synced.
        if not path.is_dir():
            raise storage_error("make the folder", path, error) from error
    except OSError as error:
        raise storage_error("make the folder", path, error) from error


def check_folder(path: Path) -> bool:
    """Whether a folder is there; raises if it is a link to where others could put files."""
    try:
        if not stat.S_ISLNK(path.lstat().st_mode):
            return True
        target = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error("reach", path, error) from error
    if sys.platform != "win32" and (target.st_uid != os.geteuid() or target.st_mode & 0o002):
        raise SecurityError(
            f"`{path.name}` in pflow's home is a link to a folder that other users can change",
            suggestions=["link to a folder that you own and that is not world-writable"],
        )
    return True


def read_private(path: Path, limit: int) -> bytes:
    """What a file of ours holds. Links, pipes, devices and folders are refused, and never waited for."""
    try:
        fd = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY)
    except FileNotFoundError:
        raise NotFoundError(f"`{path.name}` does not exist") from None
    except OSError as error:
        if error.errno in LINK_ERRORS:
            raise not_regular(path) from None
        raise storage_error("read", path, error) from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise not_regular(path)
        if found.st_size > limit:
            raise _too_large(path, limit)
        chunks = []
        left = limit + 1
        while left > 0 and (chunk := os.read(fd, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:
            raise _too_large(path, limit)
        return b"".join(chunks)
    except OSError as error:
        raise storage_error("read", path, error) from error
    finally:
        os.close(fd)


def make_private(path: Path) -> bool:
    """Take a file's permissions away from other users; whether there was something to take."""
    if sys.platform == "win32":
        return False
    try:
        fd = os.open(path, os.O_RDONLY | NOFOLLOW | NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error("read", path, error) from error
    try:
        if not stat.S_IMODE(os.fstat(fd).st_mode) & 0o077:
            return False
        os.fchmod(fd, 0o600)
        return True
    except OSError as error:
        raise storage_error("restrict the permissions of", path, error) from error
    finally:
        os.close(fd)


@contextmanager
def locked(path: Path, *, calls: Calls = os) -> Iterator[None]:
    """Keep every other thread and process out of `path` that asks the same way; waits for them.

    The lock is a file beside it that stays; the kernel lets go of it when its holder dies.
    """
    make_folder(path.parent, calls=calls)
    lock = path.parent / f".{path.name}.lock"
    fd = open_lock(lock, calls=calls)
    try:
        hold_lock(fd, lock)
        yield
    finally:
        os.close(fd)


def set_aside(path: Path, *, calls: Calls = os) -> Path:
    """Move a file that does not hold what it should to `NAME.corrupt-DATE`, where nothing else is."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    number = 1
    while True:
        aside = path.with_name(f"{path.name}.corrupt-{stamp}" + (f"-{number}" if number > 1 else ""))
        try:
            # Claiming the name first keeps two processes from moving onto each other's backup.
            calls.close(calls.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600))
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise storage_error("set aside", path, error) from error
        try:
            _replace(path, aside, calls)
            sync_folder(path.parent, calls)
        except OSError as error:
            if aside.stat().st_size == 0:
                quietly(calls.unlink, aside)
            raise storage_error("set aside", path, error) from error
        return aside


def parse_object(data: bytes) -> dict[str, object] | None:
    """The JSON object that some bytes hold, or None if they hold anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def sweep_temps(folder: Path, *, now: float | None = None, limit: int = _TEMPS_LOOKED_AT) -> None:
    """Delete what writes that were killed left behind an hour ago or more, among the first `limit` files.

    The limit keeps a write into a folder of thousands of files cheap; whoever prunes one passes more.
    """
    deadline = (time.time() if now is None else now) - _TEMP_AGE
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, limit):
                if _is_temp(entry.name) and entry.stat(follow_symlinks=False).st_mtime < deadline:
                    quietly(os.unlink, Path(entry.path))
    except OSError:
        return


def _is_temp(name: str) -> bool:
    if not (name.startswith(".") and name.endswith(".tmp")):
        return False
    middle = name[1:-4].rpartition(".")[2]
    return len(middle) == 16 and not middle.strip("0123456789abcdef")


def _check_target(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise not_regular(path)


def _too_large(path: Path, limit: int) -> StorageError:
    return StorageError(
        f"`{path}` is larger than {limit} bytes",
        details={"file": str(path)},
        suggestions=["check what wrote it; pflow's own files are much smaller"],
    )


def _replace(source: Path, target: Path, calls: Calls) -> None:
    if sys.platform == "win32":
        for attempt in range(1, 10):  # another process may have the target open for a moment
            try:
                calls.replace(source, target)
                return
            except PermissionError:
                time.sleep(0.02 * attempt)
    calls.replace(source, target)


def sync_folder(folder: Path, calls: Calls = os) -> None:
    """Make the names in a folder durable."""
    if sys.platform == "win32":
        return
    fd = calls.open(folder, os.O_RDONLY)
    try:
        calls.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems have no such call for folders
            raise
    finally:
        quietly(calls.close, fd)
