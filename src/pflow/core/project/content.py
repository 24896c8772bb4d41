"""The files of a project's folder that count, read once: what is shown, agreed to and used are the same bytes."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import islice
from pathlib import Path

from pflow.core.errors import SecurityError
from pflow.core.file.file_name import is_name
from pflow.core.file.os_call import LINK_ERRORS, NOFOLLOW, open_at_once, read_up_to
from pflow.core.file.trust import distrust
from pflow.core.frozen import Frozen
from pflow.core.printable import shorten

WORKFLOWS, NODES, OPTIONS = "workflows", "nodes", "options.json"
MOST_FILES = 500
"""Files that count in one folder."""

MOST_ENTRIES = 2_000
"""Entries of one directory that are looked at."""

MOST_BYTES = 16 << 20
"""Bytes of all files that count."""

_DEEPEST = 4
"""Levels of directories inside `workflows`."""

_SUFFIXES = {WORKFLOWS: (".yaml", ".yml", ".json"), NODES: (".py",)}


class Content(Frozen):
    """What a folder holds: its files by their path in it, with `/` between the parts; and which were left out."""

    folder: Path
    files: Mapping[str, bytes]
    left_out: tuple[str, ...] = ()

    def hashes(self) -> dict[str, str]:
        """A hash of each file."""
        return {name: sha256(data).hexdigest() for name, data in self.files.items()}

    def digest(self) -> str:
        """Changes with every file that counts: one that is added, removed, renamed or edited."""
        lines = (f"{found} {name}\n" for name, found in sorted(self.hashes().items()))
        return sha256("".join(lines).encode()).hexdigest()

    def with_file(self, name: str, data: bytes | None) -> Content:
        """The same with one file written, or with None deleted."""
        files = {each: held for each, held in self.files.items() if each != name}
        return self._replace(files=files if data is None else {**files, name: data})


def read_content(folder: Path) -> Content:
    """Everything in a folder that counts. Raises `SecurityError` if any of it is not what it should be.

    Links, devices, and files that other users could have changed are refused with the whole folder: leaving one out
    would change what the others mean.
    """
    _check_directory(folder, folder)
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    size = 0
    for name, is_counted in _names(folder):
        if len(files) + len(left_out) >= MOST_FILES:
            raise _too_many(folder)
        if not is_counted:
            left_out.append(f"`{shorten(name)}` is left out; a name has only letters, digits, `-`, `_` and `.`")
            continue
        files[name] = _read(folder, name, MOST_BYTES - size)
        size += len(files[name])
    return Content(folder=folder, files=files, left_out=tuple(left_out[:20]))


def _names(folder: Path) -> Iterator[tuple[str, bool]]:
    """The names of files that may count, in a stable order, and whether each has an allowed name."""
    if _exists(folder / OPTIONS):
        yield OPTIONS, True
    for room in (NODES, WORKFLOWS):
        if _exists(folder / room):
            yield from _names_in(folder, room, _SUFFIXES[room], _DEEPEST if room == WORKFLOWS else 1)


def _names_in(folder: Path, room: str, suffixes: tuple[str, ...], depth: int) -> Iterator[tuple[str, bool]]:
    _check_directory(folder, folder / room)
    try:
        with os.scandir(folder / room) as entries:
            listed = list(islice(entries, MOST_ENTRIES + 1))
    except OSError as error:
        raise _unreadable(folder, room, error) from error
    if len(listed) > MOST_ENTRIES:
        raise _too_many(folder)
    for entry in sorted(listed, key=lambda entry: entry.name):
        name = entry.name
        if name.startswith((".", "_")):
            continue
        if name.endswith(suffixes):
            yield f"{room}/{name}", is_name(name)
        elif depth > 1 and entry.is_dir(follow_symlinks=False) and is_name(name):
            yield from _names_in(folder, f"{room}/{name}", suffixes, depth - 1)


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except OSError:
        return False
    return True


def _check_directory(folder: Path, path: Path) -> None:
    shown = path.relative_to(folder.parent)
    try:
        found = path.lstat()
    except OSError as error:
        raise _unreadable(folder, str(shown), error) from error
    if stat.S_ISLNK(found.st_mode):
        raise _refused(folder, f"`{shown}` is a link", "put the directory itself there")
    if not stat.S_ISDIR(found.st_mode):
        raise _refused(folder, f"`{shown}` is not a directory", "remove or rename it")
    _check_trust(folder, str(shown), found)


def _check_trust(folder: Path, shown: str, found: os.stat_result) -> None:
    if reason := distrust(found):
        raise _refused(folder, f"`{shown}` {reason}", "make it yours alone to write, after a look at what it holds")


def _read(folder: Path, name: str, room: int) -> bytes:
    try:
        with open_at_once(folder / name, NOFOLLOW) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise _refused(folder, f"`{name}` is not a regular file", "put a regular file in its place")
            _check_trust(folder, name, found)
            data = read_up_to(file, room)
    except OSError as error:
        if error.errno in (*LINK_ERRORS, errno.EISDIR):
            raise _refused(
                folder, f"`{name}` is a link or not a regular file", "put a regular file in its place"
            ) from None
        raise _unreadable(folder, name, error) from error
    if data is None:
        raise _refused(folder, f"its files have more than {MOST_BYTES >> 20} MB", "keep data elsewhere")
    return data


def _too_many(folder: Path) -> SecurityError:
    return _refused(folder, f"it holds more than {MOST_FILES} files", "keep only what belongs to pflow in it")


def _unreadable(folder: Path, name: str, error: OSError) -> SecurityError:
    reason = (error.strerror or str(error)).lower()
    return _refused(folder, f"`{shorten(name)}` cannot be read: {reason}", "make it readable for you, or remove it")


def _refused(folder: Path, reason: str, advice: str) -> SecurityError:
    return SecurityError(
        f"the project's folder `{folder}` is not used: {reason}", details={"folder": str(folder)}, suggestions=[advice]
    )
