"""The source files of node classes, and a cheap way to see that one changed."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from pflow.core.file.trust import distrust

Fingerprint = list[str | int]
"""A file's import name (empty for a person's own file), time of change in nanoseconds, and size; and why it is not
used, if other users could have changed it."""

PACKAGE = "pflow.nodes"
FOLDER = Path(__file__).parent.parent / "nodes"
"""The built-in nodes. The registry reads their source; it cannot import them, they are a layer above."""


def fingerprints(user_folder: Path) -> dict[str, Fingerprint]:
    """Every file that may hold nodes, built-in ones first, in a stable order."""
    return _files(str(FOLDER), PACKAGE) | own_fingerprints(user_folder)


def own_fingerprints(user_folder: Path) -> dict[str, Fingerprint]:
    """A person's own files that may hold nodes."""
    return _files(str(user_folder), "")


def builtin_stamp() -> list[int]:
    """Changes when pflow is installed anew, which replaces files; looking at each of them takes longer."""
    return [os.stat(room).st_mtime_ns for room in _rooms()]  # noqa: PTH116


@cache
def _rooms() -> tuple[str, ...]:
    """The directories of the built-in nodes."""
    return tuple(sorted({os.path.dirname(path) for path in _files(str(FOLDER), PACKAGE)}))  # noqa: PTH120


def why_unused(fingerprint: Fingerprint) -> str:
    """Why a person's own file is not used; "" if it is."""
    return str(fingerprint[3]) if len(fingerprint) > 3 else ""


def _files(folder: str, package: str) -> dict[str, Fingerprint]:
    found: dict[str, Fingerprint] = {}
    try:
        reason = "" if package else _reason(os.stat(folder), "is in a directory that ")  # noqa: PTH116
        with os.scandir(folder) as items:
            listed = sorted(items, key=lambda item: item.name)
    except OSError:
        return found
    for item in listed:
        name = item.name
        if name.startswith(("_", ".")):
            continue
        try:
            if name.endswith(".py") and item.is_file():
                stat = item.stat()
                module = f"{package}.{name[:-3]}" if package else ""
                found[item.path] = [module, stat.st_mtime_ns, stat.st_size]
                # A user who could install pflow could also change its own nodes.
                if not package and (unused := reason or _reason(stat)):
                    found[item.path].append(unused)
            elif package and item.is_dir():
                found |= _files(item.path, f"{package}.{name}")
        except OSError:
            continue
    return found


def _reason(found: os.stat_result, place: str = "") -> str:
    reason = distrust(found)
    return f"{place}{reason}" if reason else ""
