"""From a parameter to a path, and from an operating system's refusal to a step's error."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

from pflow.core.errors import StepError
from pflow.core.suggest import nearest


def path_param(params: Mapping[str, object], name: str, default: str | None = None) -> str:
    """The path that a parameter holds, `~` expanded, otherwise as the author wrote it."""
    value = params.get(name, default)
    if not isinstance(value, str) or not value:
        raise StepError(f"`{name}` must be a path, not {describe(value)}")
    if "\0" in value:
        raise StepError(f"`{name}` holds a NUL character, so it is no path")
    return os.path.expanduser(value) if value.startswith("~") else value  # noqa: PTH111 keeps unknown users


def describe(value: object) -> str:
    """A wrong value in words, without showing what may be long or secret."""
    if value is None:
        return "null"
    if value == "":
        return "an empty text"
    kinds = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "an array"}
    return kinds.get(type(value), "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}")


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
