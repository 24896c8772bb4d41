"""Earlier versions of saved workflows: one numbered file for each text that was ever saved, up to a limit."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from pflow.core.errors import NotFoundError
from pflow.core.file.atomic import read_private, remove, sync_folder, write_atomic
from pflow.core.file.os_call import Calls, storage_error
from pflow.core.frozen import Frozen
from pflow.core.library.workflow_text import FORMS, Form, WorkflowText

KEPT_VERSIONS = 50
"""Versions of one workflow; with more, the oldest ones go."""

MAX_FILE = 32 << 20
"""Bytes of a workflow's file."""

_FILE = r"([1-9][0-9]{0,8})\.(json|yaml)"


class Version(Frozen):
    """One text that was saved under a name."""

    number: int
    form: Form
    saved_at: str
    size: int
    path: Path


class History:
    """The versions of the workflows of one directory. Callers hold the lock of that directory."""

    def __init__(self, folder: Path, *, calls: Calls = os) -> None:
        self._root = folder / ".versions"
        self._calls = calls

    def versions(self, name: str) -> list[Version]:
        """Every kept version, newest first."""
        return sorted(self._found(name), key=lambda version: -version.number)

    def read(self, version: Version) -> WorkflowText:
        """The text of a version."""
        return WorkflowText(data=read_private(version.path, MAX_FILE), form=version.form)

    def add(self, name: str, number: int, text: WorkflowText) -> None:
        """Keep a text as a version, and drop the oldest versions beyond the limit."""
        write_atomic(self._root / name / f"{number}{text.suffix}", text.data, calls=self._calls)
        self.prune(name, KEPT_VERSIONS)

    def prune(self, name: str, keep: int) -> int:
        """Delete all but the newest versions; says how many are gone."""
        old = self.versions(name)[keep:]
        for version in old:
            remove(version.path, calls=self._calls)
        return len(old)

    def rename(self, name: str, new_name: str) -> None:
        """Let another name have the versions of this one."""
        self.forget(new_name)
        try:
            self._calls.replace(self._root / name, self._root / new_name)
            sync_folder(self._root, self._calls)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("rename", self._root / name, error) from error

    def forget(self, name: str) -> None:
        """Delete every version of a name."""
        self.prune(name, 0)
        try:
            (self._root / name).rmdir()
        except OSError:
            return  # it is not there, or holds files of others

    def _found(self, name: str) -> Iterator[Version]:
        try:
            with os.scandir(self._root / name) as entries:
                for entry in entries:
                    match = re.fullmatch(_FILE, entry.name)
                    if match is None or not entry.is_file(follow_symlinks=False):
                        continue
                    info = entry.stat(follow_symlinks=False)
                    form = next(form for form in FORMS if form == match[2])
                    saved_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(info.st_mtime))
                    yield Version(
                        number=int(match[1]), form=form, saved_at=saved_at, size=info.st_size, path=Path(entry.path)
                    )
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error("read the directory", self._root / name, error) from error


def pick_version(name: str, versions: list[Version], number: int) -> Version:
    """The version of that number; a `NotFoundError` that says which there are."""
    for version in versions:
        if version.number == number:
            return version
    kept = f"versions {versions[-1].number} to {versions[0].number} are kept" if versions else "no version is kept"
    raise NotFoundError(f"`{name}` has no version {number}", suggestions=[kept])
