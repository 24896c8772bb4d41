"""Where the `.pflow` folders of projects are, seen from a directory; looks at names and owners, reads no file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from pflow.core.file.home import Home

FOLDER = ".pflow"
"""The name of the folder that a project brings along."""

_MOST_LEVELS = 64
"""Directories that are looked at, upward; deeper ones than anyone has."""


def current_directory() -> Path | None:
    """Where the search begins for a command line and a server; None if the directory is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def find_folders(start: Path, home: Home) -> Iterator[Path]:
    """The `.pflow` entries of a directory and those above it, nearest first, whatever they are.

    The search ends at the root of a file system, and at a directory of another user: what lies beyond is not part of
    what this person works on. The home is never a project's folder, however it is reached.
    """
    try:
        here = os.path.realpath(start)
        device = os.stat(here).st_dev  # noqa: PTH116 - this runs on every start
    except OSError:
        return
    for _ in range(_MOST_LEVELS):
        if not _is_inside(here, device):
            return
        found = os.path.join(here, FOLDER)  # noqa: PTH118
        # Homes are looked at after each entry is known to be there: somebody else may be making them meanwhile.
        if _is_entry(found) and not _is_one_of(found, _homes(home)):
            yield Path(found)
        above = os.path.dirname(here)  # noqa: PTH120
        if above == here:
            return
        here = above


def is_home(folder: Path, home: Home) -> bool:
    """Whether a folder is pflow's home, or the place of one, however it is reached."""
    places = (home.root, _usual_home())
    return folder in places or _is_one_of(str(folder), _homes(home))


def _is_inside(directory: str, device: int) -> bool:
    try:
        found = os.stat(directory)  # noqa: PTH116
    except OSError:
        return False
    return found.st_dev == device and (sys.platform == "win32" or found.st_uid in (os.geteuid(), 0))


def _is_entry(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError:
        return False
    return True


def _usual_home() -> Path | None:
    user = os.environ.get("HOME", "") or os.environ.get("USERPROFILE", "")
    return Path(user) / FOLDER if user else None


def _homes(home: Home) -> list[os.stat_result]:
    """The home in use and the usual one: with `PFLOW_HOME` set, `~/.pflow` is still a home."""
    found = []
    for root in (home.root, _usual_home()):
        try:
            found += [root.stat()] if root is not None else []
        except OSError:
            continue
    return found


def _is_one_of(path: str, homes: list[os.stat_result]) -> bool:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and any(os.path.samestat(found, each) for each in homes)
