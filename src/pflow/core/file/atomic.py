"""Files that are never half-written, lost, readable by other users or mistaken for links; knows no contents."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import orjson

from pflow.core.errors import NotFoundError, StorageError
from pflow.core.file.lock import hold_lock, open_lock
from pflow.core.file.os_call import (
    BINARY,
    LINK_ERRORS,
    NOFOLLOW,
    Calls,
    is_own_file,
    not_regular,
    open_at_once,
    quietly,
    read_up_to,
    storage_error,
)
from pflow.core.file.trust import check_trust
from pflow.core.json_type import load_json

_TEMP_SECONDS = 3600.0
"""Temporary files that are older were left behind by a write that was killed."""

_TEMPS_LOOKED_AT = 512
"""Files; looking at thousands would slow every write down."""

_STAMP = len("20260131-235959")
_ASIDE = r"\.corrupt-\d{8}-\d{6}(?:-(\d+))?(?:-wal|-shm|-journal)?$"
_ASIDES_KEPT = 5
"""Damaged files beside the newest; more would only pile up what nobody repaired."""

JSON_LIMIT = 64 << 20
"""Bytes of one of our JSON files; more is a mistake or an attack."""


def write_atomic(path: Path, data: bytes, *, durable: bool = True, calls: Calls = os) -> None:
    """Make `path` hold `data`: after a crash at any point it holds that or what it held before.

    What can be made again from other files need not be `durable`: then a power cut may lose it. Callers that write
    many such files sweep their directory now and then.
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
    """Delete one of our files, durably; a `NotFoundError` if it is not there."""
    try:
        calls.unlink(path)
        sync_folder(path.parent, calls)
    except FileNotFoundError:
        raise NotFoundError(f"`{path.name}` does not exist") from None
    except OSError as error:
        raise storage_error("delete", path, error) from error


def make_folder(path: Path, *, calls: Calls = os) -> None:
    """Make a directory and its parents, for this user only; one that exists stays as it is.

    One that other users could put files into is refused, also behind a link.
    """
    if not check_folder(path):
        _make_missing(path, calls)


def _make_missing(path: Path, calls: Calls) -> None:
    if not path.parent.exists():
        _make_missing(path.parent, calls)
    try:
        calls.mkdir(path, 0o700)
        sync_folder(path.parent, calls)
    except OSError as error:
        # Another process was faster, or the parent may be entered but not listed, and so not synced.
        if not (isinstance(error, FileExistsError | PermissionError) and path.is_dir()):
            raise storage_error("make the directory", path, error) from error


def check_folder(path: Path) -> bool:
    """Whether a directory is there; raises if other users could put files into it, also behind a link."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error("reach", path, error) from error
    check_trust(path, found)
    return True


def read_private(path: Path, limit: int) -> bytes:
    """What one of our files holds. Links, pipes, devices and directories are refused, and never waited for."""
    try:
        with open_at_once(path, NOFOLLOW) as file:
            found = os.fstat(file.fileno())
            if not is_own_file(found):
                raise not_regular(path)
            check_trust(path, found)
            data = read_up_to(file, limit)
    except FileNotFoundError:
        raise NotFoundError(f"`{path.name}` does not exist") from None
    except OSError as error:
        if error.errno in (*LINK_ERRORS, errno.EISDIR):
            raise not_regular(path) from None
        raise storage_error("read", path, error) from error
    if data is None:
        raise StorageError(
            f"`{path}` is larger than {limit} bytes",
            details={"file": str(path)},
            suggestions=["check what wrote it; pflow's own files are much smaller"],
        )
    return data


def make_private(path: Path) -> bool:
    """Take a file's permissions away from other users; whether they had any."""
    if sys.platform == "win32":
        return False
    try:
        with open_at_once(path, NOFOLLOW) as file:
            is_open = bool(os.fstat(file.fileno()).st_mode & 0o077)
            if is_open:
                os.fchmod(file.fileno(), 0o600)
            return is_open
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error("restrict the permissions of", path, error) from error


@contextmanager
def locked(path: Path, *, calls: Calls = os) -> Iterator[None]:
    """Lock `path` against every other thread and process that locks it; waits for them.

    The lock is a file beside it that stays; the kernel releases it when its holder dies.
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
    """Move a damaged file to `NAME.corrupt-DATE`, where nothing else is; of older ones the newest few are kept."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    # Names that were pruned are not used again: the newest file must have the last name.
    number = 1 + max((_number(file) for file in find_asides(path) if f".corrupt-{stamp}" in file.name), default=0)
    while True:
        aside = path.with_name(f"{path.name}.corrupt-{stamp}" + (f"-{number}" if number > 1 else ""))
        try:
            # The name is claimed first, so that two processes cannot overwrite each other's backup.
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
        _prune_asides(path, aside, calls)
        return aside


def find_asides(path: Path) -> list[Path]:
    """What a file was set aside as, oldest first, with the files that belong to a database that was."""
    prefix = f"{path.name}.corrupt-"
    try:
        with os.scandir(path.parent) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(prefix) and re.search(_ASIDE, entry.name)]
    except OSError:
        return []
    return sorted(map(path.with_name, names), key=lambda file: (file.name[: len(prefix) + _STAMP], _number(file)))


def _number(aside: Path) -> int:
    """Which of the files that were set aside in the same second this is."""
    match = re.search(_ASIDE, aside.name)
    return int(match[1] or 1) if match else 0


def _prune_asides(path: Path, newest: Path, calls: Calls) -> None:
    asides = [file for file in find_asides(path) if not file.name.startswith(newest.name)]
    for file in asides[: max(0, len(asides) - _ASIDES_KEPT)]:
        quietly(calls.unlink, file)


def parse_object(data: bytes) -> dict[str, object] | None:
    """The JSON object that some bytes hold, or None if they hold anything else."""
    try:
        value = load_json(data)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def sweep_temps(folder: Path, *, now: float | None = None, limit: int = _TEMPS_LOOKED_AT) -> None:
    """Delete what killed writes left behind an hour ago or more, among the first `limit` files.

    The limit keeps a write into a directory of thousands of files cheap; callers that prune one pass more.
    """
    deadline = (time.time() if now is None else now) - _TEMP_SECONDS
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, limit):
                is_temp = re.fullmatch(r"\.(?:.*\.)?[0-9a-f]{16}\.tmp", entry.name)
                if is_temp and entry.stat(follow_symlinks=False).st_mtime < deadline:
                    quietly(os.unlink, Path(entry.path))
    except OSError:
        return


def _check_target(path: Path) -> None:
    try:
        is_own = is_own_file(path.lstat())
    except FileNotFoundError:
        return
    if not is_own:
        raise not_regular(path)


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
    """Make the names in a directory durable."""
    if sys.platform == "win32":
        return
    fd = calls.open(folder, os.O_RDONLY)
    try:
        sync_names(fd, calls)
    finally:
        quietly(calls.close, fd)


def sync_names(fd: int, calls: Calls = os) -> None:
    """Make the names in an open directory durable."""
    try:
        calls.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems have no such call for directories
            raise
