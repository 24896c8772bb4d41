"""Real processes for tests: forked, so that they start at once, and ended without running the tests' own ends."""

from __future__ import annotations

import json
import os
import signal
import traceback
from collections.abc import Callable

from pflow.core.errors import PflowError
from tests.unprivileged import obey_permissions


def together(count: int, work: Callable[[int], object]) -> list[object]:
    """What `work` returns in each of `count` processes that begin at the same moment; errors as `error:CODE`.

    They live until the last of them is done.
    """
    start_read, start_write = os.pipe()
    end_read, end_write = os.pipe()
    children = []
    for index in range(count):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(start_write)
            os.close(end_write)
            os.read(start_read, 1)  # returns when the parent closes its end
            _finish(write, lambda: work(index), linger=end_read)
        os.close(write)
        children.append((pid, read))
    os.close(start_read)
    os.close(end_read)
    os.close(start_write)
    results = [_receive(read) for _, read in children]
    os.close(end_write)
    return [_collect(pid, result) for (pid, _), result in zip(children, results, strict=True)]


def in_child(work: Callable[[], object], *, unprivileged: bool = False) -> object:
    """What `work` returns in a process of its own, or `killed`; without root's power to ignore permissions."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        if unprivileged:
            obey_permissions()
        _finish(write, work)
    os.close(write)
    return _collect(pid, _receive(read))


def killed_while(work: Callable[[Callable[[], None]], None], after: Callable[[], None]) -> None:
    """Run `work` in a process, `after` here once it calls what it is given, and then kill the process."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)

        def ready() -> None:
            os.write(write, b"!")
            signal.pause()

        _finish(write, lambda: work(ready))
    os.close(write)
    try:
        assert os.read(read, 1) == b"!"
        after()
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _finish(write: int, work: Callable[[], object], *, linger: int | None = None) -> None:
    try:
        try:
            result = work()
        except PflowError as error:
            result = f"error:{error.code}"
        data = json.dumps(result).encode() + b"\n"
        while data:
            data = data[os.write(write, data) :]
        if linger is not None:
            os.read(linger, 1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        os._exit(0)


def _receive(read: int) -> bytes:
    data = b""
    while not data.endswith(b"\n") and (chunk := os.read(read, 65536)):
        data += chunk
    os.close(read)
    return data


def _collect(pid: int, data: bytes) -> object:
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return "killed"
    assert os.waitstatus_to_exitcode(status) == 0
    return json.loads(data)
