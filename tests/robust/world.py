"""The surroundings that these tests make hostile: command lines as processes, disks, users, and waiting."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pflow.cli.main import run_command

for _module in (
    *("asyncio", "sqlite3", "subprocess", "pflow.workspace", "pflow.adapters.sqlite_journal", "pflow.registry.scan"),
    *(f"pflow.cli.commands.{name}" for name in ("run", "runs", "settings", "workflow", "registry", "pipeline")),
    *(f"pflow.nodes.{name}" for name in ("echo", "shell", "code.node", "http.node", "file.read", "file.change")),
):
    import_module(_module)  # a command line imports what it needs; a fork of this process need not do so again

PATIENCE = 60.0
"""Seconds after which something that should happen counts as never happening; far more than it takes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A command line that ended: its exit code (−N for signal N) and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on stdout."""
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """Everything that was written, for searching."""
        return self.out + self.err


def until(happened: Callable[[], T], what: str) -> T:
    """What `happened` returns as soon as that is true; fails the test when it never is."""
    deadline = time.monotonic() + PATIENCE
    pause = 0.0005
    while not (found := happened()):
        if time.monotonic() > deadline:
            pytest.fail(f"never happened: {what}")
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
    return found


class Forked:
    """A command line in a process of its own that needs no new interpreter: a fork of this one."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str | None] | None = None,
        stdin: bytes = b"",
        before: Callable[[], object] | None = None,
        work: Callable[[], int] | None = None,
    ) -> None:
        self._out, self._err, source = (tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115
        source.write(stdin)
        source.seek(0)
        gc.freeze()  # or the child's collector would copy every page of ours by looking at it
        self.pid = os.fork()
        if self.pid == 0:
            code = 70
            try:
                for target, file in enumerate((source, self._out, self._err)):
                    os.dup2(file.fileno(), target)
                sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
                _set_environment(env or {})
                if before is not None:
                    before()
                code = run_command(words) if work is None else work()
                sys.stdout.flush()
            except BaseException:
                traceback.print_exc(file=sys.stderr)
            finally:
                sys.stderr.flush()
                os._exit(code)
        gc.unfreeze()
        source.close()
        self._status: int | None = None

    def kill(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self._status is None:
            os.kill(self.pid, number)

    def said(self, text: str) -> bool:
        """Whether it has written something like that to stderr by now."""
        size = os.fstat(self._err.fileno()).st_size
        return text.encode() in os.pread(self._err.fileno(), size, 0)

    def ended(self) -> bool:
        """Whether it is over; never waits."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status is not None

    def wait(self) -> Ended:
        """How it ended; it is killed when it does not."""
        try:
            until(self.ended, "the end of a command line")
        finally:
            if self._status is None:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        assert self._status is not None
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
            file.close()
        return Ended(code=os.waitstatus_to_exitcode(self._status), out=texts[0], err=texts[1])


def pflow(
    *words: str,
    env: Mapping[str, str | None] | None = None,
    stdin: bytes = b"",
    before: Callable[[], object] | None = None,
) -> Ended:
    """Run one command line to its end in a forked process. `before` runs in that process first."""
    return Forked(words, env=env, stdin=stdin, before=before).wait()


def program(*words: str, env: Mapping[str, str | None] | None = None, stdin: bytes = b"") -> Ended:
    """Run `python -m pflow` to its end in a new interpreter."""
    done = subprocess.run(
        [sys.executable, "-m", "pflow", *words],
        env=environment(env or {}),
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(
        code=done.returncode, out=done.stdout.decode(errors="replace"), err=done.stderr.decode(errors="replace")
    )


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with changes; None takes a variable away."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def _set_environment(changes: Mapping[str, str | None]) -> None:
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[Path]:
    """A file system in memory at `folder`; skips the test where that is not allowed."""
    folder.mkdir(exist_ok=True)
    if os.geteuid() != 0 or not _mount(folder, ",".join(options)):
        pytest.skip("mounting a small file system needs root on Linux")
    try:
        yield folder
    finally:
        until(lambda: _quiet("umount", str(folder)), f"unmounting {folder}")


def remount(folder: Path, *options: str) -> None:
    """Change the options of a mounted file system."""
    subprocess.run(["mount", "-o", ",".join(["remount", *options]), str(folder)], check=True)


def _mount(folder: Path, options: str) -> bool:
    return _quiet("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))


def _quiet(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every regular file below a folder with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def document(*nodes: Mapping[str, object], **fields: object) -> str:
    """A document as JSON text."""
    return json.dumps({**fields, "nodes": list(nodes)})
