"""Starts a child process in its own session, or says plainly why it cannot. `group.py` handles its lifetime."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from pflow.core.errors import StepError
from pflow.process.guardian import GUARDIAN


class Child(Protocol):
    """A child that leads its group: what `Popen` has, and what a fork server's children have as well."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None:
        """Its exit code, −N after signal N; None while it runs."""


class Spawned(NamedTuple):
    """A child, and our ends of its stdin (−1 without), stdout and stderr."""

    popen: Child
    stdin: int
    stdout: int
    stderr: int


def spawn(argv: Sequence[str], piped: bool, env: Mapping[str, str], cwd: str | None) -> Spawned:
    """Start a child, with a pipe to its stdin if `piped`. The guardian knows its group."""

    def start(theirs: Sequence[int]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            argv,
            stdin=theirs[2] if piped else subprocess.DEVNULL,
            stdout=theirs[0],
            stderr=theirs[1],
            env=env,
            cwd=cwd,
            start_new_session=True,
            pass_fds=theirs[-1:],
        )

    try:
        return open_child(piped, start)
    except (OSError, ValueError) as error:
        raise _refusal(error, argv, env, cwd) from error


def open_child(piped: bool, start: Callable[[Sequence[int]], Child]) -> Spawned:
    """Have a child started with its ends of the pipes: stdout, stderr, stdin if `piped`, and last one to hold."""
    ours: list[int] = []
    theirs: list[int] = []
    pipes: list[int] = []
    try:
        for _ in range(3 if piped else 2):
            reading, writing = os.pipe()
            ours.append(reading)
            theirs.append(writing)
        if piped:
            ours[2], theirs[2] = theirs[2], ours[2]
        for fd in ours:
            os.set_blocking(fd, False)
        # By this pipe the guardian recognizes a child that redirected its outputs; nothing is ever written to it.
        theirs += os.pipe()
        pipes = [os.fstat(fd).st_ino for fd in (*theirs[:2], theirs[-1])]
        GUARDIAN.expect(pipes)
        child = start(theirs)
    except (OSError, ValueError):
        for fd in ours:
            os.close(fd)
        GUARDIAN.add(None, pipes)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    GUARDIAN.add(child.pid, pipes)
    return Spawned(child, ours[2] if piped else -1, ours[0], ours[1])


def _refusal(error: OSError | ValueError, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> StepError:
    """Why a command could not be started, for people."""
    name = argv[0]
    if isinstance(error, ValueError):
        return StepError(f"`{name}` cannot be started: {error}")  # a NUL, or a variable's name with `=`
    if cwd is not None and error.filename == cwd:
        reason = {errno.ENOENT: "it does not exist", errno.ENOTDIR: "it is not a directory"}
        why = reason.get(error.errno or 0, error.strerror)
        return StepError(f"the working directory `{cwd}` cannot be entered: {why}")
    path = os.path.join(cwd or "", name)  # noqa: PTH118
    match error.errno:
        case errno.ENOENT if "/" in name and os.path.lexists(path):
            return StepError(
                f"`{name}` needs an interpreter that does not exist",
                suggestions=["check the path in its first line (`#!…`)"],
            )
        case errno.ENOENT | errno.ENOTDIR:
            return StepError(f"the command `{name}` was not found", suggestions=["install it, or give its full path"])
        case errno.EACCES if os.path.isdir(path):  # noqa: PTH112
            return StepError(f"`{name}` is a directory, not a command")
        case errno.EACCES:
            return StepError(f"`{name}` is not executable", suggestions=[f"chmod +x {name}"])
        case errno.ENOEXEC:
            return StepError(f"`{name}` is not a program", suggestions=["begin a script with `#!` and its interpreter"])
        case errno.E2BIG:
            largest, size = max(_sizes(argv, env), key=lambda item: item[1])
            return StepError(
                f"`{name}` cannot be started: arguments and environment are larger than the system allows",
                details={"largest": largest, "bytes": size},
                suggestions=["pass large values as `stdin`, or through a file"],
            )
    return StepError(f"`{name}` cannot be started: {error.strerror}")


def _sizes(argv: Sequence[str], env: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    for position, argument in enumerate(argv):
        yield f"argument {position}", len(os.fsencode(argument))
    for name, value in env.items():
        yield f"environment variable {name}", len(os.fsencode(value))
