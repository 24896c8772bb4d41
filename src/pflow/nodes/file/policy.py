"""Places that no step may change or read, whatever a document says.

Decided on the real path, after every link, and on which files and directories are really met on the way: another
name of the same directory (a mount, another case) does not help. A workflow that has to change such a place uses a
`shell` step. The setting `files.allow_read` opens places for reading; `protected_place.py` is the table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from pflow.core.advice import Advice
from pflow.core.errors import SecurityError
from pflow.core.printable import shorten
from pflow.engine.context import find_step
from pflow.nodes.file import git_place
from pflow.nodes.file.path import file_error
from pflow.nodes.file.place import OWN, Layout, Place, find_layout, fold, inside
from pflow.nodes.file.protected_place import GIT, KERNEL, READABLE_KERNEL

Identity = tuple[int, int]
"""A file or directory by device and number, whatever its name."""

NOTHING: frozenset[Identity] = frozenset()

_ALLOW = "files.allow_read"
_HANDED_OUT = ("runs", "workflows", "temp-workflows")
"""Of pflow's directory: results that steps got as files, and documents."""

_ASK_FOR_SECRETS = "let a workflow input marked `secret` carry the value"
_KERNEL = ("/proc", "/dev", "/sys/kernel", "/sys/firmware")
"""What is not read of the kernel's files; of `/sys`, other places only describe the machine."""

_USE_SHELL = "let a `shell` step read it"
_MOST_LINKS = 1_000
"""Files of one place among which the other name of a hard link is looked for; browsers keep many thousands."""


def real_path(path: str, *, follow: bool = True) -> str:
    """Where `path` really leads; without `follow` a link at its end stands for itself."""
    try:
        if follow:
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        return os.path.join(os.path.realpath(folder or "."), name)  # noqa: PTH118 a Path would drop a final `.`
    except OSError as error:  # the current directory is gone
        raise file_error("reach", path, error) from error


def identity(found: os.stat_result) -> Identity:
    """Which file or directory this is."""
    return found.st_dev, found.st_ino


def check_change(doing: str, path: str, met: frozenset[Identity] = NOTHING) -> None:
    """Raise `SecurityError` if no step may write, replace or delete the real path `path`.

    With `met`, the directories on the way and the file, only these are looked at: the path has been checked.
    """
    layout = find_layout()
    place = _unchangeable(layout, path) if not met else _met(met, path, layout, (*layout.credentials, *layout.changes))
    if place is not None:
        raise SecurityError(f"refused to {doing}: the path leads to {place.label}", suggestions=["choose another path"])


def check_read(doing: str, path: str, met: frozenset[Identity] = NOTHING) -> None:
    """Raise `SecurityError` if no step may read the real path `path`; `met` as in `check_change`."""
    layout = find_layout()
    place = _unreadable(layout, path) if not met else _met(met, path, layout, layout.credentials)
    if place is None:
        return
    if place.advice:
        raise SecurityError(f"refused to {doing}: the path leads to {place.label}", suggestions=[place.advice])
    step = find_step()
    listed = step.services.settings.get(_ALLOW, "") if step else ""
    if not any(_opens(entry, path) for entry in _entries(listed)):
        raise SecurityError(
            f"refused to {doing}: the path leads to {place.label}, which steps may not read unless settings allow it",
            suggestions=[
                Advice("{set_option}", name=_ALLOW, value=",".join(filter(None, (listed, _shown(place.path)))))
            ],
        )


def is_readable(path: str) -> bool:
    """Whether steps may read the real path `path`."""
    try:
        check_read("read", path)
    except SecurityError:
        return False
    return True


def check_list(doing: str, path: str) -> None:
    """Raise `SecurityError` if no step may list the directory at the real path `path`."""
    check_read(doing, path)
    around = (path, *map(str, Path(path).parents))
    check_read(doing, path, frozenset(identity(os.stat(folder)) for folder in around))  # noqa: PTH116


def closed_directories() -> frozenset[str]:
    """The real paths of the places that steps do not read, as far as they have fixed names."""
    layout = find_layout()
    return frozenset((*(os.path.realpath(place.path) for place in layout.credentials), *layout.pflow_homes, *_KERNEL))


def check_opened(doing: str, path: str, found: os.stat_result) -> None:
    """Raise `SecurityError` if an open file is one that no step may read under another name.

    That is a hard link to a credential, or a file of the kernel's that is mounted elsewhere.
    """
    if found.st_nlink > 1:
        layout = find_layout()
        for place in (*layout.credentials, *(Place(OWN, home) for home in layout.pflow_homes)):
            if any(number == found.st_ino for number in islice(_numbers(place), _MOST_LINKS)):
                raise SecurityError(
                    f"refused to {doing}: the file is the same (a hard link) as one of {place.label}",
                    suggestions=["choose another path"],
                )
    # Files of the kernel have no size.
    if found.st_size == 0 and path not in READABLE_KERNEL and _is_proc(found.st_dev):
        raise SecurityError(f"refused to {doing}: the path leads to {KERNEL}", suggestions=[_USE_SHELL])


def _unchangeable(layout: Layout, path: str) -> Place | None:
    """The place at `path` that steps do not change."""
    if git_place.is_git(path):
        return Place(GIT, path)
    if _is_kernels(path, ("/proc", "/sys", "/dev")):
        return Place(KERNEL, path)
    if any(inside(path, home) for home in layout.homes_for(path)) and not _is_own(path):
        return Place(OWN, path)
    return layout.named(path, changes=True) or _behind_link(path, (*layout.credentials, *layout.changes))


def _unreadable(layout: Layout, path: str) -> Place | None:
    """The place at `path` that steps do not read."""
    for home in layout.homes_for(path):
        if inside(path, home) and not any(inside(path, f"{home}{os.sep}{name}") for name in _HANDED_OUT):
            return Place(f"{OWN}, which holds secrets", home, _ASK_FOR_SECRETS)
    if _is_kernels(path, _KERNEL) and path not in READABLE_KERNEL:
        return Place(KERNEL, path, _USE_SHELL)
    if git_place.is_settings(path):
        return Place("git settings, which may hold tokens", path)
    return layout.named(path, changes=False)


def _is_kernels(path: str, folders: Iterable[str]) -> bool:
    """Whether a path leads to files of the kernel's; those in `/dev/shm` are files like all others."""
    return any(inside(path, folder) for folder in folders) and not inside(path, "/dev/shm")


def _met(met: frozenset[Identity], path: str, layout: Layout, places: Iterable[Place]) -> Place | None:
    """The place that is one of the directories and files that were met on the way, if its name was not known."""
    own = [Place(OWN, home, _ASK_FOR_SECRETS) for home in layout.pflow_homes]
    if any(inside(path, place.path) for place in own):
        own = []
    for place in (*places, *own):
        try:
            if identity(os.stat(place.path)) in met:  # noqa: PTH116
                return place
        except OSError:
            continue
    return None


def _behind_link(path: str, places: Iterable[Place]) -> Place | None:
    """The place that is a link to `path`, or to a directory around it; nothing may be there yet."""
    for place in places:
        if os.path.islink(place.path) and inside(path, os.path.realpath(place.path)):  # noqa: PTH114
            return place
    return None


def _is_own(path: str) -> bool:
    """Whether this is a file of the running run, such as a download that a step now moves to its place."""
    step = find_step()
    return step is not None and inside(path, os.path.realpath(step.services.home / "runs" / step.run_id))


def _numbers(place: Place) -> Iterator[int]:
    """The numbers of the file at a place, or of those below it; of pflow's directory, those that are not handed out."""
    waiting = [place.path]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if place.label != OWN or entry.name not in _HANDED_OUT:
                            waiting.append(entry.path)
                    else:
                        yield entry.inode()
        except NotADirectoryError:
            yield os.stat(path).st_ino  # noqa: PTH116
        except OSError:
            continue


def _is_proc(device: int) -> bool:
    """Whether a device is the kernel's account of processes, wherever it is mounted."""
    if sys.platform != "linux" or os.major(device):  # file systems without a disk have the major number 0
        return False
    number = f"0:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2:3] == [number] and after.startswith("proc "):
            return True
    return False


def _entries(listed: str) -> list[str]:
    """The places that `files.allow_read` lists. One that cannot be read is an error; it never allows more."""
    entries = [os.path.expanduser(entry.strip()) for entry in listed.split(",") if entry.strip()]  # noqa: PTH111
    for entry in entries:
        if not os.path.isabs(entry) or ".." in Path(entry).parts:  # noqa: PTH117
            raise SecurityError(
                f"setting `{_ALLOW}` contains `{shorten(entry)}`, which is not an absolute path",
                suggestions=[Advice("{set_option}", name=_ALLOW, value="~/.kube/config")],
            )
    return entries


def _opens(entry: str, path: str) -> bool:
    """Whether an entry, a path or a glob, is `path` or a directory that it is in."""
    from fnmatch import fnmatchcase  # lazy: only where a protected place is asked for

    for pattern in {entry, entry if any(letter in entry for letter in "*?[") else os.path.realpath(entry)}:
        wanted, parts = Path(fold(pattern)).parts, Path(fold(path)).parts
        if len(wanted) <= len(parts) and all(map(fnmatchcase, parts, wanted)):
            return True
    return False


def _shown(path: str) -> str:
    """A place as a person would write it."""
    home = os.path.realpath(os.path.expanduser("~"))  # noqa: PTH111
    return f"~{path[len(home) :]}" if inside(path, home) else path
