"""The nodes that change local files: `write-file`, `copy-file`, `move-file` and `delete-file`.

A file is replaced as a whole: whoever reads it sees the old or the new content. Every change asks the policy
first, about the real path.
"""

from __future__ import annotations

import base64
import binascii
import errno
import os
import stat
import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import orjson
from pocketflow import Node

from pflow.core.errors import StepError
from pflow.nodes import param
from pflow.nodes.file.path import file_error, is_folder, not_regular
from pflow.nodes.file.policy import check_change, check_read, real_path
from pflow.nodes.file.read import unknown_encoding

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_CHUNK = 1 << 20

Shared = MutableMapping[str, Any]


class WriteFile(Node):
    """Write a file, all of it or nothing. Folders on the way are made; a link is written through."""

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

    def prep(self, shared: Shared) -> tuple[str, bytes, bool]:
        """Check the parameters."""
        if "content" not in self.params:
            raise StepError("`content` is missing", suggestions=['give `content`, or "" for an empty file'])
        append = param.flag(self.params, "append")
        encoding = param.text(self.params, "encoding", "utf-8", such_as="utf-8")
        return param.path(self.params, "path"), encode(self.params["content"], encoding), append

    def exec(self, prep_res: tuple[str, bytes, bool]) -> tuple[str, int]:
        """Write."""
        path, data, append = prep_res
        target = _target("write", path)
        try:
            if append:
                _append(path, target, data)
            else:
                _replace("write", path, target, lambda fd: _write_all(fd, data))
        except OSError as error:
            raise file_error("write", path, error) from error
        return path, len(data)

    def post(self, shared: Shared, prep_res: Any, exec_res: tuple[str, int]) -> str:
        """Write the outputs."""
        shared["path"], shared["size"] = exec_res
        return "default"


class _FromTo(Node):
    actions = ("default", "error", "resource_missing")

    class Params:
        from_: Annotated[str, "The file to start from"]
        to: Annotated[str, "Where it goes; a folder that exists takes it in under its own name"]

    class Outputs:
        path: Annotated[str, "Where the file is now"]

    def prep(self, shared: Shared) -> tuple[str, str]:
        """Check the parameters."""
        source, target = param.path(self.params, "from"), param.path(self.params, "to")
        try:
            if Path(target).is_dir():
                target = str(Path(target) / Path(source).name)
        except OSError as error:
            raise file_error("reach", target, error) from error
        return source, target

    def post(self, shared: Shared, prep_res: Any, exec_res: str) -> str:
        """Write the outputs."""
        shared["path"] = exec_res
        return "default"


class CopyFile(_FromTo):
    """Copy a file. What was at the new place is replaced as a whole."""

    name = "copy-file"

    def exec(self, prep_res: tuple[str, str]) -> str:
        """Copy."""
        source, path = prep_res
        check_read("copy", real_path(source))
        _check_source("copy", source)
        _check_different(source, path)
        target = _target("copy to", path)
        try:
            _copy(source, path, target)
        except OSError as error:
            raise file_error("copy to", path, error) from error
        return path


class MoveFile(_FromTo):
    """Move or rename a file. What was at the new place is replaced."""

    name = "move-file"

    def exec(self, prep_res: tuple[str, str]) -> str:
        """Move; between two file systems, copy and then delete."""
        source, path = prep_res
        check_change("move", real_path(source, follow=False))
        check_read("move", real_path(source))
        _check_source("move", source)
        _check_different(source, path)
        target = _target("move to", path)
        _check_existing("move to", path, target)
        try:
            Path(source).replace(target)
            _sync_folder(target.parent)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise file_error("move to", path, error) from error
            try:
                _copy(source, path, target)
                Path(source).unlink()
            except OSError as failure:
                raise file_error("move to", path, failure) from failure
        return path


class DeleteFile(Node):
    """Delete a file. Of a link, only the link."""

    name = "delete-file"
    actions = ("default", "error", "resource_missing")

    class Params:
        path: Annotated[str, "The file to delete"]

    class Outputs:
        path: Annotated[str, "The file that was deleted"]

    def exec(self, prep_res: Any) -> str:
        """Delete."""
        path = param.path(self.params, "path")
        try:
            check_change("delete", real_path(path, follow=False))
            if stat.S_ISDIR(Path(path).lstat().st_mode):
                raise is_folder("delete", path, "delete its files one by one, or use a `shell` step")
            Path(path).unlink()
        except OSError as error:
            raise file_error("delete", path, error) from error
        return path

    def post(self, shared: Shared, prep_res: Any, exec_res: str) -> str:
        """Write the outputs."""
        shared["path"] = exec_res
        return "default"


def encode(content: object, encoding: str) -> bytes:
    """The bytes of a file with that content."""
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        try:
            return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        except TypeError as error:
            raise StepError(f"`content` is neither text nor JSON: {error}") from None
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
    """The real path to write to, allowed, with its folder made."""
    if path.endswith(("/", os.sep)):
        raise is_folder(doing, path, "add the name of the file")
    try:
        target = Path(real_path(path))
        check_change(doing, str(target))
        target.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise file_error(doing, path, OSError(errno.ENOTDIR, error.strerror)) from error
    except OSError as error:
        raise file_error(doing, path, error) from error
    return target


def _check_source(doing: str, path: str) -> None:
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise file_error(doing, path, error) from error
    if stat.S_ISDIR(mode):
        raise is_folder(doing, path, "name the files one by one, or use a `shell` step")
    if not stat.S_ISREG(mode):
        raise not_regular(doing, path)


def _check_different(source: str, target: str) -> None:
    try:
        same = Path(source).samefile(target)
    except OSError:
        return
    if same:
        raise StepError(f"`{source}` and `{target}` are the same file")


def _check_existing(doing: str, path: str, target: Path) -> os.stat_result | None:
    """What is at `target` already; raises if it is not a file that may be replaced."""
    try:
        found = target.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error(doing, path, error) from error
    if stat.S_ISDIR(found.st_mode):
        raise is_folder(doing, path, "add the name of the file")
    if not stat.S_ISREG(found.st_mode):
        raise not_regular(doing, path)
    if not os.access(target, os.W_OK):
        raise file_error(doing, path, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    return found


def _replace(doing: str, path: str, target: Path, fill: Callable[[int], None], mode: int | None = None) -> None:
    """Put what `fill` writes at `target`, keeping the owner and mode of the file that was there."""
    found = _check_existing(doing, path, target)
    temp = target.parent / f".pflow.{os.urandom(8).hex()}.tmp"
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY, 0o666)
    try:
        try:
            if sys.platform != "win32":
                if found is not None:
                    mode = stat.S_IMODE(found.st_mode) & 0o777
                    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
                        _keep_owner(fd, found)
                if mode is not None:
                    os.fchmod(fd, mode)
            fill(fd)
            # A step that is recorded as done must not lose its file to a power cut.
            os.fsync(fd)
        finally:
            os.close(fd)
        temp.replace(target)
    except BaseException:
        with suppress(OSError):
            temp.unlink()
        raise
    _sync_folder(target.parent)


def _keep_owner(fd: int, found: os.stat_result) -> None:
    try:
        os.fchown(fd, found.st_uid, found.st_gid)
    except PermissionError:
        return  # only root may give files away; the content matters more than the owner


def _copy(source: str, path: str, target: Path) -> None:
    fd = os.open(source, os.O_RDONLY | _NONBLOCK | _BINARY)
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode) & 0o777

        def fill(out: int) -> None:
            while chunk := os.read(fd, _CHUNK):
                _write_all(out, chunk)

        _replace("copy to", path, target, fill, mode)
    finally:
        os.close(fd)


def _append(path: str, target: Path, data: bytes) -> None:
    _check_existing("write", path, target)
    fd = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NOFOLLOW | _NONBLOCK | _BINARY, 0o666)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise not_regular("write", path)
        if found.st_nlink > 1:
            # Its other names may lie where the policy would refuse.
            raise StepError(
                f"cannot append to `{path}`: it is the same file as another one (a hard link)",
                suggestions=["read the file and write it anew"],
            )
        _write_all(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(fd)
