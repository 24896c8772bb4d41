"""Errors of steps about a path: what the operating system refused, or what is there instead of a file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pflow.core.errors import StepError
from pflow.core.suggest import nearest

_REASONS = {
    errno.ENOENT: "it does not exist",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "it is a directory",
    errno.ENOTDIR: "a part of the path is a file, not a directory",
    errno.ENAMETOOLONG: "a name in it is too long",
    errno.ELOOP: "its links form a loop",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the file system is read-only",
}


@contextmanager
def file_errors(doing: str, path: str) -> Iterator[None]:
    """Raise what the operating system refuses as a `StepError` about `path`."""
    try:
        yield
    except OSError as error:
        raise file_error(doing, path, error) from error


def file_error(doing: str, path: str, error: OSError) -> StepError:
    """What a step says when `doing` something to `path` failed."""
    code = error.errno or 0
    missing = code == errno.ENOENT
    return StepError(
        f"cannot {doing} `{path}`: {_REASONS.get(code, error.strerror or str(error))}",
        action="resource_missing" if missing else "error",
        details={"path": path, "errno": errno.errorcode.get(code, "")},
        suggestions=_beside(path) if missing else (),
    )


def check_file(doing: str, path: str, mode: int, advice: str) -> None:
    """Raise `StepError` for a directory, with `advice`, and for what could block forever."""
    if stat.S_ISDIR(mode):
        raise is_directory(doing, path, advice)
    if not stat.S_ISREG(mode):
        raise StepError(f"cannot {doing} `{path}`: it is a pipe, device or socket, not a file")


def is_directory(doing: str, path: str, advice: str) -> StepError:
    """For a directory where a file is needed."""
    return StepError(f"cannot {doing} `{path}`: it is a directory", suggestions=[advice])


def _beside(path: str) -> list[str]:
    """Names beside a missing file that may have been meant."""
    place = Path(path)
    try:
        near = nearest(place.name, os.listdir(place.parent))  # noqa: PTH208 names only
    except (OSError, ValueError):
        return []
    return [f"did you mean `{place.parent / name}`?" for name in near[:1]]
