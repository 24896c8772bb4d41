"""What steps say while they run, for followers in other processes: a bounded file that is there as long as the run is.

Nothing in it is durable: what counts is in the journal when a step ends. A follower that has the file open reads on
after it was removed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import orjson

from pflow.core.errors import PflowError
from pflow.core.file.atomic import make_folder
from pflow.core.frozen import Frozen

_MOST_BYTES = 1 << 20
"""Size of the file; when it is full it begins anew."""

_LONGEST_LINE = 2_000
"""Characters of a line that are passed on."""

_SAFE = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class LiveLine(Frozen):
    """A line that a step said: its `stream` is `stdout`, `stderr` or `report`."""

    step: str
    stream: str
    text: str
    at: float


class LiveOutput:
    """Writes what the steps of this process say. What cannot be written is lost, and disturbs nobody."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder = folder
        self._redact = redact
        self._files: dict[str, BinaryIO | None] = {}

    def __call__(self, run_id: str, step: str, stream: str, text: str) -> None:
        """Pass a line on to whoever follows the run."""
        if run_id not in self._files:
            self._files[run_id] = self._open(run_id)
        file = self._files[run_id]
        if file is None:
            return
        line = {"step": step, "stream": stream, "text": self._redact(text)[:_LONGEST_LINE], "at": time.time()}
        data = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
        try:
            if file.tell() + len(data) > _MOST_BYTES:
                file.seek(0)
                file.truncate()
            file.write(data)
        except OSError:
            self._files[run_id] = None

    def end(self, run_id: str) -> None:
        """The run has ended here: the journal tells all of it."""
        file = self._files.pop(run_id, None)
        if file is not None:
            file.close()
            path_of(self._folder, run_id).unlink(missing_ok=True)

    def _open(self, run_id: str) -> BinaryIO | None:
        if not _SAFE.fullmatch(run_id):
            return None
        try:
            make_folder(self._folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
            return os.fdopen(os.open(path_of(self._folder, run_id), flags, 0o600), "wb", buffering=0)
        except (OSError, PflowError):
            return None


class LiveReader:
    """Reads what a run says, from when it is first asked."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self._path = path_of(folder, run_id) if _SAFE.fullmatch(run_id) else None
        self._file: BinaryIO | None = None
        self._rest = b""

    def read(self) -> Iterator[LiveLine]:
        """The lines that have come since the last time."""
        if self._file is None:
            self._open()
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)  # it was full, and begins anew
            self._rest = b""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        for line in lines:
            try:
                yield LiveLine(**orjson.loads(line))
            except (ValueError, TypeError):
                continue

    def close(self) -> None:
        """Leave the file alone."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)
            self._file = None if self._path is None else os.fdopen(os.open(self._path, flags), "rb", buffering=0)
        except OSError:
            self._file = None


def path_of(folder: Path, run_id: str) -> Path:
    """The file of a run."""
    return folder / f"{run_id}.jsonl"


def forget_live(folder: Path, is_going_on: Callable[[str], bool]) -> None:
    """Remove the files that killed processes have left."""
    for path in folder.glob("*.jsonl") if folder.is_dir() else ():
        if not is_going_on(path.stem):
            path.unlink(missing_ok=True)
