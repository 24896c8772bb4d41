"""From an operating system's refusal to a step's error that says which path it is about."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from pflow.core.errors import StepError
from pflow.core.suggest import nearest


def file_error(doing: str, path: str, error: OSError) -> StepError:
    """What a step says when `doing` something to `path` failed."""
    details = {"path": path, "errno": errno.errorcode.get(error.errno or 0, "")}
    if error.errno == errno.ENOENT:
        return StepError(
            f"cannot {doing} `{path}`: it does not exist",
            action="resource_missing",
            details=details,
            suggestions=_beside(path),
        )
    reasons = {
        errno.EACCES: "permission denied",
        errno.EPERM: "permission denied",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
        errno.ENAMETOOLONG: "a name in it is too long",
        errno.ELOOP: "its links form a loop",
        errno.ENOSPC: "the disk is full",
        errno.EROFS: "the file system is read-only",
    }
    reason = reasons.get(error.errno or 0, error.strerror or str(error))
    return StepError(f"cannot {doing} `{path}`: {reason}", details=details)


def not_regular(doing: str, path: str) -> StepError:
    """For pipes, devices and sockets: they are no files, and waiting for one could take forever."""
    return StepError(f"cannot {doing} `{path}`: it is a pipe, device or socket, not a file")


def is_folder(doing: str, path: str, advice: str) -> StepError:
    """For a folder where a file is needed."""
    return StepError(f"cannot {doing} `{path}`: it is a folder", suggestions=[advice])


def _beside(path: str) -> list[str]:
    """Names beside a missing file that may have been meant."""
    place = Path(path)
    try:
        near = nearest(place.name, os.listdir(place.parent))  # noqa: PTH208 names only
    except (OSError, ValueError):
        return []
    return [f"did you mean `{place.parent / name}`?" for name in near[:1]]
