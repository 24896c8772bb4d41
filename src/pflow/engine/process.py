"""Runs a command as a child process that never outlives its caller. Which command may run is decided elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pflow.core.errors import StepError, StepTimeout
from pflow.engine.guardian import GUARDIAN
from pflow.engine.spawn import spawn

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""

_LINGER = 0.1
_CHUNK = 1 << 16
_LAST_READ = 1 << 20
_SHORTEST, _LONGEST = 0.0005, 0.05
_TAIL = 2000

_INHERITED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "PFLOW_HOME", "SSH_AUTH_SOCK", "CI"),
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

    Only what commands ordinarily need and what holds no secret: the paths, the person, the language, the
    terminal, certificates, proxies, and the homes of common tool chains. Keys and tokens in our environment
    are not inherited; a step that needs one names it. A proxy address with a user name in it is left out.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if (name in _INHERITED or name.startswith(_PREFIXES)) and not (name.lower().endswith("_proxy") and "@" in value)
    }
    return {**inherited, **(extra or {})}


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    cwd: str | None = None,
    timeout: float | None = None,
    limit: int = 10 << 20,
) -> Finished:
    """Run a command to its end, in a session of its own, and give back what it wrote.

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
    child = _Child(argv, bool(stdin), env, cwd, limit)
    try:
        child.attach(stdin, timeout)
        await child.done
        await child.end()
    except asyncio.CancelledError:
        await child.end()
        raise
    except BaseException:
        child.abandon()
        raise
    finally:
        child.close()
    if child.late:
        raise StepTimeout(f"`{argv[0]}` took longer than {timeout:g} s", details=child.tails())
    if child.exit_code is None:
        raise StepError(
            f"the exit code of `{argv[0]}` was lost",
            suggestions=["start pflow without ignoring SIGCHLD", "check whether the command is still running"],
        )
    return Finished(
        exit_code=child.exit_code,
        stdout=bytes(child.stdout.kept),
        stderr=bytes(child.stderr.kept),
        stdout_cut=child.stdout.cut,
        stderr_cut=child.stderr.cut,
    )


class _Output:
    """One output of a child: the end we read from, and what is kept of it."""

    def __init__(self, fd: int, limit: int) -> None:
        self.fd = fd
        self.kept = bytearray()
        self.cut = False
        self._limit = limit

    def read(self) -> int:
        """Take what is there; how much that was: 0 at the end, −1 when there is nothing now."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return -1
        room = self._limit - len(self.kept)
        self.cut = self.cut or len(data) > room
        if room > 0:
            self.kept += data[:room]
        return len(data)


class _Child:
    """A running child with its group, its pipes and its end."""

    def __init__(self, argv: Sequence[str], piped: bool, env: Mapping[str, str], cwd: str | None, limit: int) -> None:
        self.exit_code: int | None = None
        self.late = False
        self._exited = False
        self._reaped = False
        self._ended = False
        self._exit_fd = -1
        self._input = memoryview(b"")
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._loop = asyncio.get_running_loop()
        self.done: asyncio.Future[None] = self._loop.create_future()
        self._popen, self._stdin, out, err = spawn(argv, piped, env, cwd)
        self.pid = self._popen.pid
        self.stdout, self.stderr = _Output(out, limit), _Output(err, limit)
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
        try:
            self._exit_fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            self._poll_exit(_SHORTEST)
        else:
            self._loop.add_reader(self._exit_fd, self._exit)

    async def end(self) -> None:
        """End the group and wait until it is gone. A cancellation meanwhile is raised when that is done."""
        if self._ended:
            return
        cancelled = False
        for number in (signal.SIGTERM, signal.SIGKILL):
            # An exited leader is not waited for before its first signal: until then the number is its group's.
            self.signal(number)
            until, pause = self._loop.time() + GRACE, _SHORTEST
            while not (gone := self._gone(pause >= _LONGEST)) and self._loop.time() < until:
                try:
                    await asyncio.sleep(pause)
                except asyncio.CancelledError:
                    cancelled = True
                    if number == signal.SIGTERM:
                        break
                pause = min(pause * 2, _LONGEST)
            if gone:
                break
        self._ended = True
        for output in self._open:
            left = _LAST_READ
            while left > 0 and (count := output.read()) > 0:
                left -= count
        if cancelled:
            raise asyncio.CancelledError

    def abandon(self) -> None:
        """End the group at once, for when the loop goes away and nothing can be awaited."""
        self.signal(signal.SIGKILL)
        for _ in range(100):
            if self._gone(False):
                break
            time.sleep(_SHORTEST)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def close(self) -> None:
        """Let go of everything that is held for the child."""
        for timer in self._timers.values():
            timer.cancel()
        for output in tuple(self._open):
            self._close_output(output)
        self._close_stdin()
        self._close_exit()
        GUARDIAN.remove(self.pid)

    def tails(self) -> dict[str, str]:
        """The last of what the child wrote, as far as it was kept."""
        kept = {"stdout": self.stdout.kept, "stderr": self.stderr.kept}
        return {name: data[-_TAIL:].decode(errors="replace") for name, data in kept.items() if data}

    def _read(self, output: _Output) -> None:
        if output.read() == 0:
            self._close_output(output)
            if self._exited and not self._open:
                self._finish()

    def _write(self) -> None:
        try:
            written = os.write(self._stdin, self._input[:_CHUNK])
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
        self._close_exit()
        if self._open:
            self._timers["linger"] = self._loop.call_later(_LINGER, self._finish)
        else:
            self._finish()

    def _poll_exit(self, pause: float) -> None:
        self._reap()
        if self._reaped:
            self._exit()
        else:
            self._timers["exit"] = self._loop.call_later(pause, self._poll_exit, min(pause * 2, _LONGEST))

    def _finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)

    def _gone(self, thorough: bool) -> bool:
        self._reap()
        if not self._reaped:
            return False
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        if not thorough or not _is_dead(self.pid):
            return False
        self.signal(signal.SIGKILL)  # for what was forked while we looked
        return True

    def _reap(self) -> None:
        """Wait, without waiting, for the leader, and for orphans of its group if they fell to us."""
        try:
            while (found := os.waitpid(-self.pid, os.WNOHANG))[0]:
                if found[0] == self.pid:
                    self._reaped = True
                    self.exit_code = self._popen.returncode = os.waitstatus_to_exitcode(found[1])
        except ChildProcessError:
            self._reaped = True
            if self._popen.returncode is None:
                self._popen.returncode = 0  # someone else waited; what Popen would make of it, too

    def _close_output(self, output: _Output) -> None:
        self._open.discard(output)
        self._loop.remove_reader(output.fd)
        os.close(output.fd)

    def _close_stdin(self) -> None:
        if self._stdin >= 0:
            self._loop.remove_writer(self._stdin)
            os.close(self._stdin)
            self._stdin = -1

    def _close_exit(self) -> None:
        if self._exit_fd >= 0:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = -1


def _is_dead(group: int) -> bool:
    """Whether a group has only zombies left, which stay where nobody waits for orphans."""
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return False
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                state, _, own = file.read().rpartition(b")")[2].split(maxsplit=3)[:3]
        except (OSError, ValueError):
            continue
        if int(own) == group and state not in (b"Z", b"X"):
            return False
    return bool(pids)
