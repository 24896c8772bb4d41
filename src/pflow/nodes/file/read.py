"""The nodes that read local files and directories: `read-file` and `list-files`."""

from __future__ import annotations

import base64
import os
import stat
import sys
from pathlib import Path
from typing import Annotated, Any

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.file.directory import open_to_read
from pflow.nodes.file.path import check_file, file_errors
from pflow.nodes.file.pattern import Pattern
from pflow.nodes.file.policy import check_list, closed_directories, is_readable, real_path
from pflow.nodes.output_node import OutputNode

MAX_SIZE = 10 * 1024 * 1024
"""Bytes of a file, unless the node says otherwise."""

MAX_FILES = 100_000
_MAX_VISITED = 1_000_000


class ReadFile(OutputNode):
    """Read a text file. With the encoding `base64`, any file."""

    name = "read-file"
    synonyms = (
        "open a document",
        "load the contents of a text file",
        "from my computer or disk",
        "cat",
        "get what is in a file",
        "import",
        "what does the file say",
        "contents, content",
        "look into a file",
        "fetch from the file system",
        "view",
        "local file, txt, log, md",
    )
    purity = "read"
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The file to read"]
        encoding: Annotated[str, "How its bytes are text, such as utf-8 or latin-1; base64 for binary files"] = "utf-8"
        max_size: Annotated[int, "Bytes above which the file is refused"] = MAX_SIZE

    class Outputs:
        content: Annotated[str, "What the file holds"]
        path: Annotated[str, "The file that was read"]
        size: Annotated[int, "Its bytes"]

    def exec(self, prep_res: object) -> dict[str, Any]:
        """Read and decode."""
        path = param.path(self.params, "path")
        encoding = param.text(self.params, "encoding", "utf-8", such_as="utf-8")
        data = read_bytes(path, param.integer(self.params, "max_size", MAX_SIZE, most=sys.maxsize))
        return {"content": decode(path, data, encoding), "path": path, "size": len(data)}


class ListFiles(OutputNode):
    """List the files of a directory whose names match a pattern, sorted.

    The pattern is a glob: `*` and `?` stay within a name, `**` is any number of directories. Names that start
    with a dot are left out unless the pattern names the dot; `**` enters no directories behind links.
    """

    name = "list-files"
    synonyms = (
        "find files in a folder",
        "directory contents",
        "search for files by name or extension",
        "glob",
        "ls",
        "all pdf, csv or image files",
        "which files exist",
        "browse a folder",
        "look at all files of a folder",
        "names of files",
        "enumerate, scan, count files",
        "newest file",
        "where is a file",
    )
    purity = "read"
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The directory to look in"] = "."
        pattern: Annotated[str, "Which files, such as *.md or **/*.py"] = "*"

    class Outputs:
        files: Annotated[list[str], "Paths of the files, sorted"]
        skipped: Annotated[int, "Directories that could not be read, and files whose names are not UTF-8"]

    def exec(self, prep_res: object) -> dict[str, Any]:
        """Walk the directories that the pattern can reach."""
        root = param.path(self.params, "path", ".")
        pattern = Pattern(param.text(self.params, "pattern", "*", such_as="*.md"))
        with file_errors("list", root):
            mode = Path(root).stat().st_mode
        if not stat.S_ISDIR(mode):
            raise StepError(
                f"cannot list `{root}`: it is a file", suggestions=["use `read-file` to read a single file"]
            )
        with file_errors("list", root):
            check_list("list", real_path(root))
        files, skipped = list_files(root, pattern)
        return {"files": files, "skipped": skipped}


def read_bytes(path: str, limit: int) -> bytes:
    """What a regular file holds, never waiting for a pipe and never more than `limit` bytes."""
    with file_errors("read", path), open_to_read("read", path) as fd:
        found = os.fstat(fd)
        check_file("read", path, found.st_mode, "use `list-files` to see what it holds")
        chunks: list[bytes] = []
        left = limit + 1
        # Files of the kernel have no size until they are read.
        while found.st_size <= limit and left > 0 and (chunk := os.read(fd, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
    if left <= 0 or found.st_size > limit:
        raise StepError(
            f"`{path}` is larger than {limit:,} bytes",
            details={"path": path, "size": found.st_size, "max_size": limit},
            suggestions=["raise `max_size`, or let a `shell` step work on the file without reading it"],
        )
    return b"".join(chunks)


def decode(path: str, data: bytes, encoding: str) -> str:
    """The text that `data` is in `encoding`."""
    if encoding == "base64":
        return base64.b64encode(data).decode("ascii")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise StepError(
            f"`{path}` is not {encoding} text: byte 0x{data[error.start]:02x} at offset {error.start:,}",
            details={"path": path, "offset": error.start},
            suggestions=["set `encoding` to what the file is, such as `latin-1`, or to `base64` if it is not text"],
        ) from None
    except (LookupError, UnicodeError, ValueError):
        raise unknown_encoding(encoding) from None


def unknown_encoding(encoding: str) -> StepError:
    """For an encoding that Python does not know."""
    return StepError(
        f"there is no text encoding `{encoding}`",
        suggestions=["use `utf-8`, `latin-1`, `utf-16` or `base64`"],
    )


def list_files(root: str, pattern: Pattern) -> tuple[list[str], int]:
    """Files below `root` that match, sorted, and how many directories and files had to be skipped."""
    prefix = "" if root in (".", "./") else root.rstrip("/") + "/"
    files: list[str] = []
    skipped = visited = 0
    closed = closed_directories()
    waiting = [("", real_path(root), pattern.start())]
    while waiting:
        below, real, states = waiting.pop()
        try:
            with os.scandir(prefix + below or ".") as items:
                entries = list(items)
        except OSError:
            skipped += 1
            continue
        visited += len(entries)
        for entry in entries:
            matches, deeper = pattern.step(states, entry.name, linked=entry.is_symlink())
            path = f"{below}{entry.name}"
            if not path.isprintable() and not _is_text(path):
                skipped += bool(matches or deeper)
                continue
            if deeper and _is(entry, os.DirEntry.is_dir):
                inner = os.path.join(real, entry.name)  # noqa: PTH118
                if entry.is_symlink():
                    inner = real_path(inner)
                # What is below a directory that may be listed is closed only if it is such a place itself.
                if (inner in closed or entry.is_symlink() or entry.name.startswith(".")) and not is_readable(inner):
                    skipped += 1
                    continue
                waiting.append((f"{path}/", inner, deeper))
            if matches and _is(entry, os.DirEntry.is_file):
                files.append(prefix + path)
        if len(files) > MAX_FILES or visited > _MAX_VISITED:
            raise StepError(
                f"`{root}` holds too many files for one step (more than {MAX_FILES:,} that match, "
                f"or {_MAX_VISITED:,} to look at)",
                suggestions=["narrow `pattern`, or start in a directory further down"],
            )
    return sorted(files), skipped


def _is_text(name: str) -> bool:
    """Whether every byte of a name was UTF-8; Python shows others as surrogates."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _is(entry: os.DirEntry[str], test: Any) -> bool:
    try:
        return bool(test(entry))
    except OSError:
        return False
