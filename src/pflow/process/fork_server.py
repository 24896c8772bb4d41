"""A child process that forks a copy of itself for every step, for a program whose start would cost more than its work.

The program is started with the word `serve` and speaks over the socket that is its standard input. It says `ready`
once. It gets the files of a child (stdin, stdout, stderr, one that is only held, and the current directory), forks,
and answers with the child's number; it gets such a number, and answers with the exit code, or `-` while it runs.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from pflow.process.guardian import GUARDIAN
from pflow.process.spawn import Spawned, open_child

_PATIENCE_SECONDS = 5.0
"""How long a server may take to answer; it has nothing else to do, so that one that takes longer was stopped."""

IS_POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open")
"""Elsewhere, system libraries may not survive a fork, or nobody is told when a process ends that is not a child."""


class ForkServer:
    """Gives children of one program. It is started when it was wanted so often that it is worth while."""

    def __init__(self, after: int = 1) -> None:
        self._after = after
        self._uses = 0
        self._server: _Server | None = None
        self._wanted: tuple[Sequence[str], Mapping[str, str]] | None = None
        self._hopeless: tuple[object, ...] = ()
        self._closed = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """The number of the server that is ready; 0 without one."""
        return self._server.pid if self._server is not None and self._server.is_ready() else 0

    def want(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Note that such a child was used just now; others will probably follow."""
        with self._lock:
            self._uses += 1
            self._wanted = argv, env
        if self._uses >= self._after:
            self.refill()

    def refill(self) -> None:
        """Start the server, if it is wanted and not there."""
        with self._lock:
            if self._wanted is None or self._closed or self._uses < self._after:
                return
            argv, env = self._wanted
            if self._find(argv, env) is None and _key(argv, env) != self._hopeless:
                try:
                    self._server = _Server(argv, env)
                except OSError:
                    self._hopeless = _key(argv, env)

    def take(self, argv: Sequence[str], env: Mapping[str, str]) -> Spawned | None:
        """A child that waits for its input, if there is a server for this command that is ready."""
        with self._lock:
            server = self._find(argv, env)
            if server is None or not server.is_ready():
                return None
            try:
                return open_child(True, server.fork)
            except OSError:
                return None

    def close(self) -> None:
        """End the server and start no more. Children that still run belong to their callers."""
        with self._lock:
            self._closed = True
            if self._server is not None:
                self._server.end()
            self._server = None

    def _find(self, argv: Sequence[str], env: Mapping[str, str]) -> _Server | None:
        """The server for a command, if it is alive; one for another command makes room."""
        server = self._server
        if server is None:
            return None
        if server.has_ended():
            self._server = None
            if not server.was_ready:
                self._hopeless = server.made_for
        elif server.made_for != _key(argv, env):
            self._server = None
            server.retire()
        return self._server


class Forked:
    """A child that the server forked, and that only the server can collect."""

    def __init__(self, pid: int, server: _Server) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server = server

    def poll(self) -> int | None:
        """Its exit code, −N after signal N; None while it runs, and 0 if its server is gone and nobody can know."""
        if self.returncode is None:
            self.returncode = self._server.collect(self.pid)
        return self.returncode


class _Server:
    """One server process, and our end of its socket."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.made_for = _key(argv, env)
        self.was_ready = False
        self._owner = os.getpid()
        self._children = 0
        self._retired = False
        self._lock = threading.RLock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        unread, unheard = os.pipe()  # like the outputs of its children, it cannot be rewound
        try:
            self._popen = subprocess.Popen(
                [*argv, "serve"],
                stdin=theirs.fileno(),
                stdout=unheard,
                stderr=unheard,
                env=env,
                cwd="/",
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(unread)
            os.close(unheard)
        self.pid = self._popen.pid
        GUARDIAN.add(self.pid, ())  # until then, it ends by itself when its socket closes
        self._socket = ours
        self._socket.settimeout(_PATIENCE_SECONDS)

    def is_ready(self) -> bool:
        """Whether it has started; it is not waited for."""
        if not self.was_ready and not self.has_ended():
            try:
                self.was_ready = bool(self._socket.recv(16, socket.MSG_DONTWAIT))
            except BlockingIOError:
                return False
            except OSError:
                self.end()
        return self.was_ready and not self.has_ended()

    def has_ended(self) -> bool:
        """Whether it is gone, however it ended. In a fork of this process it counts as gone: it is the parent's."""
        if self._socket.fileno() >= 0 and (self._owner != os.getpid() or self._popen.poll() is not None):
            self.end()
        return self._socket.fileno() < 0

    def fork(self, theirs: Sequence[int]) -> Forked:
        """A child with these outputs, input and held file, in what is now the current directory."""
        stdout, stderr, stdin, *_, held = theirs
        here = os.open(".", os.O_PATH | os.O_DIRECTORY)
        try:
            answer = self._ask(b"fork", [stdin, stdout, stderr, held, here])
        finally:
            os.close(here)
        if not answer.isdigit():
            raise OSError(f"the server cannot fork: {answer!r}")
        self._children += 1
        return Forked(int(answer), self)

    def collect(self, pid: int) -> int | None:
        """The exit code of a child, once; None while it runs."""
        with self._lock:
            try:
                answer = self._ask(str(pid).encode())
            except OSError:
                return 0
            if answer == b"-":
                return None
            self._children -= 1
            if self._retired and self._children <= 0:
                self.end()
            return int(answer)

    def retire(self) -> None:
        """Let it end when its children have ended."""
        with self._lock:
            self._retired = True
            if self._children <= 0:
                self.end()

    def end(self) -> None:
        """End it at once."""
        with self._lock:
            if self._socket.fileno() < 0:
                return
            self._socket.close()
            if self._owner != os.getpid():
                return
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._popen.wait()
            GUARDIAN.remove(self.pid)

    def _ask(self, question: bytes, files: Sequence[int] = ()) -> bytes:
        with self._lock:
            try:
                if files:
                    socket.send_fds(self._socket, [question], files)
                else:
                    self._socket.send(question)
                answer = self._socket.recv(64)
            except OSError:
                self.end()
                raise
            if not answer:
                self.end()
                raise ConnectionError("the server is gone")
            return answer


def _key(argv: Sequence[str], env: Mapping[str, str]) -> tuple[object, ...]:
    """What a server that starts now would know: the command, the environment, and which packages are installed."""
    packages = []
    for folder in sys.path:
        if folder.endswith("-packages"):
            try:
                packages.append(os.stat(folder).st_mtime_ns)  # noqa: PTH116 a Path would cost every step more
            except OSError:
                continue
    return tuple(argv), dict(env), tuple(packages)
