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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson

from pflow.core.errors import StepError
from pflow.core.file.atomic import sync_folder
from pflow.core.file.os_call import BINARY, NOFOLLOW, NONBLOCK
from pflow.nodes import param
from pflow.nodes.file.path import check_file, file_error, file_errors, is_directory
from pflow.nodes.file.policy import check_change, check_read, real_path
from pflow.nodes.file.read import unknown_encoding
from pflow.nodes.output_node import OutputNode

_CHUNK_BYTES = 1 << 20


class WriteFile(OutputNode):
    """Write a file, all of it or nothing. Missing directories are made; a link is written through."""

    name = "write-file"
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
        target = _target("write", path)
        with file_errors("write", path):
            if append:
                _append(path, target, data)
            else:
                _replace("write", path, target, lambda file: file.write(data))
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

    def exec(self, prep_res: tuple[str, str]) -> dict[str, Any]:
        """Copy."""
        source, path = prep_res
        target = _check_pair("copy", source, path)
        with file_errors("copy to", path):
            _copy(source, path, target)
        return {"path": path}


class MoveFile(_FromTo):
    """Move or rename a file. What was at the new place is replaced."""

    name = "move-file"

    def exec(self, prep_res: tuple[str, str]) -> dict[str, Any]:
        """Move; between two file systems, copy and then delete."""
        source, path = prep_res
        check_change("move", real_path(source, follow=False))
        target = _check_pair("move", source, path)
        with file_errors("move to", path):
            _check_existing("move to", path, target)
            try:
                Path(source).replace(target)
                sync_folder(target.parent)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _copy(source, path, target)
                Path(source).unlink()
        return {"path": path}


class DeleteFile(OutputNode):
    """Delete a file. Of a link, only the link."""

    name = "delete-file"
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The file to delete"]

    class Outputs:
        path: Annotated[str, "The file that was deleted"]

    def exec(self, prep_res: object) -> dict[str, Any]:
        """Delete."""
        path = param.path(self.params, "path")
        with file_errors("delete", path):
            check_change("delete", real_path(path, follow=False))
            if stat.S_ISDIR(Path(path).lstat().st_mode):
                raise is_directory("delete", path, "delete its files one by one, or use a `shell` step")
            Path(path).unlink()
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


def _target(doing: str, path: str) -> Path:
    """The real path to write to, allowed, with its directory made."""
    if path.endswith(("/", os.sep)):
        raise is_directory(doing, path, "add the name of the file")
    with file_errors(doing, path):
        target = Path(real_path(path))
        check_change(doing, str(target))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise file_error(doing, path, OSError(errno.ENOTDIR, error.strerror)) from error
    return target


def _check_pair(doing: str, source: str, path: str) -> Path:
    """The real path to write to, once `source` is known to be another file that may be read."""
    check_read(doing, real_path(source))
    with file_errors(doing, source):
        mode = Path(source).stat().st_mode
    check_file(doing, source, mode, "name the files one by one, or use a `shell` step")
    with suppress(OSError):
        if Path(source).samefile(path):
            raise StepError(f"`{source}` and `{path}` are the same file")
    return _target(f"{doing} to", path)


def _check_existing(doing: str, path: str, target: Path) -> os.stat_result | None:
    """What is at `target` already; raises if it is not a file that may be replaced."""
    try:
        found = target.lstat()
    except FileNotFoundError:
        return None
    check_file(doing, path, found.st_mode, "add the name of the file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return found


def _replace(doing: str, path: str, target: Path, fill: Callable[[BinaryIO], object], mode: int | None = None) -> None:
    """Put what `fill` writes at `target`, keeping the owner and mode of the file that was there."""
    found = _check_existing(doing, path, target)
    temp = target.parent / f".pflow.{os.urandom(8).hex()}.tmp"
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY, 0o666)
    try:
        with os.fdopen(fd, "wb") as file:
            if sys.platform != "win32":
                if found is not None:
                    mode = stat.S_IMODE(found.st_mode) & 0o777
                    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                        # Only root may give files away; the content matters more than the owner.
                        with suppress(PermissionError):
                            os.fchown(fd, found.st_uid, found.st_gid)
                if mode is not None:
                    os.fchmod(fd, mode)
            fill(file)
            _sync(file)
        temp.replace(target)
    except BaseException:
        with suppress(OSError):
            temp.unlink()
        raise
    sync_folder(target.parent)


def _copy(source: str, path: str, target: Path) -> None:
    with os.fdopen(os.open(source, os.O_RDONLY | NONBLOCK | BINARY), "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o777

        def fill(copy: BinaryIO) -> None:
            while chunk := file.read(_CHUNK_BYTES):
                copy.write(chunk)

        _replace("copy to", path, target, fill, mode)


def _append(path: str, target: Path, data: bytes) -> None:
    _check_existing("write", path, target)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY
    with os.fdopen(os.open(target, flags, 0o666), "wb") as file:
        found = os.fstat(file.fileno())
        check_file("write", path, found.st_mode, "add the name of the file")
        if found.st_nlink > 1:
            # Its other names may lie where the policy would refuse.
            raise StepError(
                f"cannot append to `{path}`: it is the same file as another one (a hard link)",
                suggestions=["read the file and write it anew"],
            )
        file.write(data)
        _sync(file)


def _sync(file: BinaryIO) -> None:
    """Make the content durable: a step that is recorded as done must not lose its file to a power cut."""
    file.flush()
    os.fsync(file.fileno())
