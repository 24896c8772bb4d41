"""Runs a command as a child process that never outlives its caller; callers decide which command may run."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pflow.core.errors import StepError, StepTimeout
from pflow.process.group import Group
from pflow.process.live_lines import LONG_SECONDS, LiveLines
from pflow.process.spawn import Spawned, spawn

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_LINGER_SECONDS = 0.1
_CHUNK_BYTES = 1 << 16
_LAST_READ_BYTES = 1 << 20
_TAIL_BYTES = 2000

_INHERITED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "SSH_AUTH_SOCK", "CI"),
        *("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "EDITOR", "VISUAL"),
        *("DISPLAY", "WAYLAND_DISPLAY", "LD_LIBRARY_PATH"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "JAVA_HOME", "GOPATH", "GOROOT", "CARGO_HOME"),
        *("RUSTUP_HOME", "NVM_DIR", "HOMEBREW_PREFIX", "NIX_PATH", "NIX_SSL_CERT_FILE"),
    )
)
_PREFIXES = ("LC_", "XDG_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that ended by itself. `exit_code` is −N when signal N ended it; cut output is its beginning."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    stdout_cut: bool
    stderr_cut: bool


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a child sees of our environment, with `extra` added.

    Only what commands ordinarily need and what holds no secret: the paths, the user, the language, the
    terminal, certificates, proxies, and the homes of common tool chains. Keys and tokens in our environment
    are not inherited; a step that needs one names it. Nor is `PFLOW_HOME`, which leads to the stored ones. A proxy
    address with a user name in it is left out.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if is_inherited(name) and not (name.lower().endswith("_proxy") and "@" in value)
    }
    return {**inherited, **(extra or {})}


def is_inherited(name: str) -> bool:
    """Whether every child sees the variable of this name."""
    return name in _INHERITED or name.startswith(_PREFIXES)


def signal_name(number: int) -> str:
    """A signal as people know it, such as `SIGKILL`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    cwd: str | None = None,
    timeout: float | None = None,
    limit: int = 10 << 20,
    child: Spawned | None = None,
    live: LiveLines | None = None,
) -> Finished:
    """Run a command to its end, in its own session, and return what it wrote; `child` is one started ahead.

    `live` gets what it writes meanwhile.

    Of each output `limit` bytes are kept; what comes after is read and dropped. On a timeout (`StepTimeout`)
    and when the calling task is cancelled, the whole process group gets SIGTERM, and SIGKILL after `GRACE`
    seconds or at a second cancellation; this returns when the group is gone. A command that ends by itself
    and leaves others of its group in the background has them ended in the same way; those that still hold an
    output open get a moment to finish first. Processes that made a group or session of their own, and those of
    another user, are out of reach; their output is not waited for. If pflow itself is killed, the guardian
    ends the group.

    Raises `StepError` when the command cannot be started.
    """
    if sys.platform == "win32":
        raise StepError("commands run only where there are process groups, which Windows does not have")
    running = _Child(child or spawn(argv, bool(stdin), env, cwd), limit, live)
    try:
        running.attach(stdin, timeout)
        await running.done
        await running.end()
    except asyncio.CancelledError:
        await running.end()
        raise
    except BaseException:  # ended, and raised again
        running.group.abandon()
        raise
    finally:
        running.close()
    if running.late:
        raise StepTimeout(f"`{argv[0]}` took longer than {timeout:g} s", details=running.tails())
    if running.group.exit_code is None:
        raise StepError(
            f"the exit code of `{argv[0]}` was lost",
            suggestions=["start pflow without ignoring SIGCHLD", "check whether the command is still running"],
        )
    return Finished(
        exit_code=running.group.exit_code,
        stdout=bytes(running.stdout.kept),
        stderr=bytes(running.stderr.kept),
        stdout_cut=running.stdout.cut,
        stderr_cut=running.stderr.cut,
    )


class _Output:
    """One output of a child: the end we read from, and what is kept of it."""

    def __init__(self, fd: int, limit: int, take: Callable[[bytes], None] | None = None) -> None:
        self.fd = fd
        self._take = take
        self.kept = bytearray()
        self.cut = False
        self._limit = limit

    def read(self) -> int:
        """Take what is there and return its size: 0 at the end, −1 if there is nothing now."""
        try:
            data = os.read(self.fd, _CHUNK_BYTES)
        except BlockingIOError:
            return -1
        room = self._limit - len(self.kept)
        self.cut = self.cut or len(data) > room
        if room > 0:
            self.kept += data[:room]
        if self._take is not None:
            self._take(data)
        return len(data)


class _Child:
    """A running child with its group and its pipes."""

    def __init__(self, spawned: Spawned, limit: int, live: LiveLines | None = None) -> None:
        self.late = False
        self._exited = False
        self._input = memoryview(b"")
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        popen, self._stdin, out, err = spawned
        self.group = Group(popen)
        takes = (None, None) if live is None else (partial(live.take, "stdout"), partial(live.take, "stderr"))
        self.stdout, self.stderr = _Output(out, limit, takes[0]), _Output(err, limit, takes[1])
        self._live = live
        self._open = {self.stdout, self.stderr}

    def attach(self, stdin: bytes, timeout: float | None) -> None:
        """Have the loop move the bytes and notice the end."""
        self._input = memoryview(stdin)
        for output in (self.stdout, self.stderr):
            self._loop.add_reader(output.fd, self._read, output)
        if self._stdin >= 0:
            self._loop.add_writer(self._stdin, self._write)
        if timeout is not None:
            self._timers["timeout"] = self._loop.call_later(timeout, self._expire)
        if self._live is not None:
            self._timers["live"] = self._loop.call_later(LONG_SECONDS, self._live.pass_on)
        self.group.watch(self._exit)

    async def end(self) -> None:
        """End the group, wait until it is gone, and take what it wrote last."""
        try:
            await self.group.end(GRACE)
        finally:
            for output in self._open:
                left = _LAST_READ_BYTES
                while left > 0 and (count := output.read()) > 0:
                    left -= count

    def close(self) -> None:
        """Release everything that is held for the child."""
        for timer in self._timers.values():
            timer.cancel()
        for output in tuple(self._open):
            self._close_output(output)
        self._close_stdin()
        self.group.forget()

    def tails(self) -> dict[str, str]:
        """The end of what the child wrote, as far as it was kept."""
        kept = {"stdout": self.stdout.kept, "stderr": self.stderr.kept}
        return {name: data[-_TAIL_BYTES:].decode(errors="replace") for name, data in kept.items() if data}

    def _read(self, output: _Output) -> None:
        if output.read() == 0:
            self._close_output(output)
            if self._exited and not self._open:
                self._finish()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._input[:_CHUNK_BYTES])
        except BlockingIOError:
            return
        except BrokenPipeError:
            written = len(self._input)  # a command need not read all of its input
        self._input = self._input[written:]
        if not self._input:
            self._close_stdin()

    def _expire(self) -> None:
        if not self._exited:
            self.late = True
            self._finish()

    def _exit(self) -> None:
        self._exited = True
        if self._open:
            self._timers["linger"] = self._loop.call_later(_LINGER_SECONDS, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _close_output(self, output: _Output) -> None:
        self._open.discard(output)
        self._loop.remove_reader(output.fd)
        os.close(output.fd)

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1
