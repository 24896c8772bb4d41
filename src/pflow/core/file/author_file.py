"""Replaces a file that a person works on, wherever it lies: at once, with the permissions that it had."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pflow.core.errors import StorageError
from pflow.core.file.os_call import storage_error


def replace_file(path: Path, before: bytes, after: bytes) -> None:
    """Make the file, also behind a link, hold `after`; raises `StorageError` if it no longer holds `before`."""
    target = path.resolve()
    temp = target.parent / f".{target.name}.{os.urandom(8).hex()}.tmp"
    try:
        if target.read_bytes() != before:
            raise StorageError(f"`{path}` has changed meanwhile, and was left as it is", suggestions=["try again"])
        mode = stat.S_IMODE(target.stat().st_mode)
        if not os.access(target, os.W_OK):
            raise StorageError(f"`{path}` is read-only", suggestions=["make it writable, or leave it as it is"])
        try:
            with temp.open("xb") as file:
                file.write(after)
                file.flush()
                os.fsync(file.fileno())
            temp.chmod(mode)
            temp.replace(target)
        finally:
            temp.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error("write", path, error) from error
