"""The nodes that change local files: `write-file`, `copy-file`, `move-file` and `delete-file`.

A file is replaced as a whole: readers see the old or the new content. Every change asks the policy first, about
the real path.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson

from pflow.core.errors import SecurityError, StepError
from pflow.nodes import param
from pflow.nodes.file.directory import Directory, open_to_change, open_to_read
from pflow.nodes.file.git_place import could_make_repository, in_repository
from pflow.nodes.file.path import check_file, file_errors, is_directory
from pflow.nodes.file.policy import check_change, identity, real_path
from pflow.nodes.file.read import unknown_encoding
from pflow.nodes.output_node import OutputNode

_CHUNK_BYTES = 1 << 20


class WriteFile(OutputNode):
    """Write a file, all of it or nothing. Missing directories are made; a link is written through."""

    name = "write-file"
    synonyms = (
        "save text to a file",
        "store on disk or on my computer",
        "append a line to a log",
        "create a document",
        "output results to a file",
        "export",
        "put text",
        "store the result in a text file",
        "add a line at the end of a file",
        "write down",
        "dump to disk",
        "make a new file",
        "keep output, report or log as a file",
        "overwrite",
    )
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The file to write"]
        content: Annotated[Any, "What to write; anything but text as JSON"]
        append: Annotated[bool, "Add to the end of the file instead of replacing it"] = False
        encoding: Annotated[str, "How text becomes bytes; base64 if the content is that"] = "utf-8"

    class Outputs:
        path: Annotated[str, "The file that was written"]
        size: Annotated[int, "Bytes that were written"]

    def exec(self, prep_res: object) -> dict[str, Any]:
        """Write."""
        if "content" not in self.params:
            raise StepError("`content` is missing", suggestions=['give `content`, or "" for an empty file'])
        path, append = param.path(self.params, "path"), param.flag(self.params, "append")
        data = encode(self.params["content"], param.text(self.params, "encoding", "utf-8", such_as="utf-8"))
        with _target("write", path) as (directory, name):
            if append:
                _append(path, directory, name, data)
            else:
                _replace("write", path, directory, name, lambda file: file.write(data))
        return {"path": path, "size": len(data)}


class _FromTo(OutputNode):
    actions = ("default", "error", "resource_missing")

    class Params:
        from_: Annotated[str, "The file to start from"]
        to: Annotated[str, "Where it goes; a directory that exists takes it in under its own name"]

    class Outputs:
        path: Annotated[str, "Where the file is now"]

    def prep(self, shared: object) -> tuple[str, str]:
        """Check the parameters."""
        source, target = param.path(self.params, "from"), param.path(self.params, "to")
        with file_errors("reach", target):
            if Path(target).is_dir():
                target = str(Path(target) / Path(source).name)
        return source, target


class CopyFile(_FromTo):
    """Copy a file. What was at the new place is replaced as a whole."""

    name = "copy-file"
    synonyms = (
        "duplicate a file",
        "back up a file",
        "backup",
        "clone",
        "make a copy",
        "make a backup",
        "replicate",
        "second copy",
    )

    def exec(self, prep_res: tuple[str, str]) -> dict[str, Any]:
        """Copy."""
        source, path = prep_res
        _copy("copy", source, path)
        return {"path": path}


class MoveFile(_FromTo):
    """Move or rename a file. What was at the new place is replaced."""

    name = "move-file"
    synonyms = (
        "rename a file",
        "put a file into another folder",
        "relocate, archive",
        "give a file a new name",
        "change the name or place",
        "transfer a file",
    )

    def exec(self, prep_res: tuple[str, str]) -> dict[str, Any]:
        """Move; between two file systems, copy and then delete."""
        source, path = prep_res
        # Of a link, the link itself is moved; what it leads to must be a file that could be read.
        with file_errors("move", source), open_to_change("move", real_path(source, follow=False)) as (here, name):
            found = _check_source("move", source)
            with _target("move to", path) as (there, new):
                _check_other(source, path, found, there.look(new))
                _check_existing("move to", path, there, new)
                try:
                    here.replace(name, there, new)
                    there.sync()
                    return {"path": path}
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
            _copy("move", source, path)
            here.unlink(name)
        return {"path": path}


class DeleteFile(OutputNode):
    """Delete a file. Of a link, only the link."""

    name = "delete-file"
    synonyms = (
        "remove or erase a file",
        "get rid of a temporary file",
        "clean up",
        "unlink, rm",
        "trash",
        "clean up leftover files",
        "discard, wipe, destroy a file",
        "throw a file away",
    )
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The file to delete"]

    class Outputs:
        path: Annotated[str, "The file that was deleted"]

    def exec(self, prep_res: object) -> dict[str, Any]:
        """Delete."""
        path = param.path(self.params, "path")
        with file_errors("delete", path), open_to_change("delete", real_path(path, follow=False)) as (directory, name):
            found = directory.look(name)
            if found is not None and stat.S_ISDIR(found.st_mode):
                raise is_directory("delete", path, "delete its files one by one, or use a `shell` step")
            directory.unlink(name)
        return {"path": path}


def encode(content: object, encoding: str) -> bytes:
    """The bytes of a file with that content."""
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        return param.json_bytes("content", content, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    try:
        if encoding == "base64":
            return base64.b64decode(content, validate=True)
        return content.encode(encoding)
    except binascii.Error:
        raise StepError("`content` is not base64, as `encoding` says") from None
    except UnicodeEncodeError as error:
        letter = f"U+{ord(content[error.start]):04X}"
        raise StepError(f"`content` cannot be {encoding}: {letter} at position {error.start:,}") from None
    except (LookupError, UnicodeError, ValueError):
        raise unknown_encoding(encoding) from None


@contextmanager
def _target(doing: str, path: str) -> Iterator[tuple[Directory, str]]:
    """The directory to write to, made if it is missing, and the name in it; both stay what they are until the end."""
    if path.endswith(("/", os.sep)):
        raise is_directory(doing, path, "add the name of the file")
    real = real_path(path)
    with file_errors(doing, path), open_to_change(doing, real, make=True) as (directory, name):
        yield directory, name
        if could_make_repository(real):
            try:
                # Two steps at the same time could each write what is harmless without the other.
                check_change(doing, real)
            except SecurityError:
                directory.unlink(name)
                for folder in takewhile(in_repository, map(str, Path(real).parents)):
                    with suppress(OSError):
                        Path(folder).rmdir()
                raise


def _check_source(doing: str, source: str) -> os.stat_result:
    """What a file is that may be read, to be copied or moved."""
    with file_errors(doing, source), open_to_read(doing, source) as fd:
        found = os.fstat(fd)
        check_file(doing, source, found.st_mode, "name the files one by one, or use a `shell` step")
        return found


def _check_other(source: str, path: str, found: os.stat_result, there: os.stat_result | None) -> None:
    if there is not None and identity(there) == identity(found):
        raise StepError(f"`{source}` and `{path}` are the same file")


def _check_existing(doing: str, path: str, directory: Directory, name: str) -> os.stat_result | None:
    """What has that name already; raises if it is not a file that may be replaced."""
    found = directory.look(name)
    if found is None:
        return None
    check_file(doing, path, found.st_mode, "add the name of the file")
    if not directory.is_writable(name):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return found


def _replace(
    doing: str,
    path: str,
    directory: Directory,
    name: str,
    fill: Callable[[BinaryIO], object],
    source: os.stat_result | None = None,
) -> None:
    """Put what `fill` writes into a file, keeping the owner and mode of the one that was there, or of its source."""
    found = _check_existing(doing, path, directory, name)
    temp = f".pflow.{os.urandom(8).hex()}.tmp"
    fd = directory.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with os.fdopen(fd, "wb") as file:
            if sys.platform != "win32":
                if found is not None and (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                    # Only root may give files away; the content matters more than the owner.
                    with suppress(PermissionError):
                        os.fchown(fd, found.st_uid, found.st_gid)
                if model := found or source:
                    os.fchmod(fd, stat.S_IMODE(model.st_mode) & 0o777)
            fill(file)
            _sync(file)
        directory.replace(temp, directory, name)
    except BaseException:  # undone, and raised again
        with suppress(OSError):
            directory.unlink(temp)
        raise
    directory.sync()


def _copy(doing: str, source: str, path: str) -> None:
    with file_errors(doing, source), open_to_read(doing, source) as fd:
        found = os.fstat(fd)
        check_file(doing, source, found.st_mode, "name the files one by one, or use a `shell` step")

        def fill(copy: BinaryIO) -> None:
            while chunk := os.read(fd, _CHUNK_BYTES):
                copy.write(chunk)

        with _target(f"{doing} to", path) as (directory, name):
            _check_other(source, path, found, directory.look(name))
            _replace(f"{doing} to", path, directory, name, fill, found)


def _append(path: str, directory: Directory, name: str, data: bytes) -> None:
    _check_existing("write", path, directory, name)
    with os.fdopen(directory.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "wb") as file:
        found = os.fstat(file.fileno())
        check_file("write", path, found.st_mode, "add the name of the file")
        if found.st_nlink > 1:
            # Its other names may lie where the policy would refuse.
            raise StepError(
                f"cannot append to `{path}`: it is the same file as another one (a hard link)",
                suggestions=["read the file and write it again"],
            )
        file.write(data)
        _sync(file)


def _sync(file: BinaryIO) -> None:
    """Make the content durable: a step that is recorded as done must not lose its file to a power cut."""
    file.flush()
    os.fsync(file.fileno())
