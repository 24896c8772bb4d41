"""An MCP server as a child process: started, spoken to over its pipes, and ended with its whole group."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Unpack

from pflow.core.errors import ServerError, ServerGone, StepError
from pflow.mcp.protocol.handshake import PROBE, Era
from pflow.mcp.protocol.rpc import IDLE
from pflow.mcp.protocol.session import Conduct, Link, Session
from pflow.mcp.transport.pipe_wire import Wire
from pflow.process.command import child_environment
from pflow.process.group import Group
from pflow.process.spawn import spawn

TERMINATED = "MCP server process terminated unexpectedly"

PATIENCE = 1.5
"""Seconds it gets after SIGTERM, and then after SIGKILL."""

_RING_BYTES = 8 << 10
_CHUNK_BYTES = 1 << 16
_AFTERLIFE_SECONDS = 0.25


async def connect_stdio(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    era: Era | None = None,
    timeout: float = IDLE,
    probe: float = PROBE,
    write_timeout: float = IDLE,
    **conduct: Unpack[Conduct],
) -> Session:
    """Start a server and agree with it on a protocol, within `timeout` seconds.

    It sees the harmless part of our environment and `env`. Some older servers end themselves at the probe for the
    newer protocol; they are started once more and greeted the old way. Raises `ServerError` and what is below it,
    and `StepTimeout`; no process is left then.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout

    async def attempt(era: Era | None) -> Session:
        session = Session(ServerProcess(argv, env or {}, cwd, write_timeout, **conduct))
        return await session.open(era=era, timeout=max(until - loop.time(), 0.0), probe=probe)

    try:
        return await attempt(era)
    except ServerGone:
        if era is not None or loop.time() >= until:
            raise
    return await attempt("legacy")


class ServerProcess(Link):
    """A running server, and everything that is held for it."""

    wire: Wire

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str | None,
        write_timeout: float,
        **conduct: Unpack[Conduct],
    ) -> None:
        super().__init__(**conduct)
        if sys.platform == "win32":
            raise ServerError("MCP servers over stdio need process groups, which Windows does not have")
        try:
            popen, stdin, stdout, self._stderr = spawn(argv, True, child_environment(env), cwd)
        except StepError as error:
            raise _refusal(error, argv[0], cwd) from error
        self._loop = asyncio.get_running_loop()
        self._ring = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self.group = Group(popen)
        self.wire = Wire(stdout, stdin, self, write_timeout=write_timeout)
        self._loop.add_reader(self._stderr, self._read_stderr)
        self.group.watch(self._exit)

    @property
    def pid(self) -> int:
        """The leader of its group."""
        return self.group.pid

    def describe(self) -> dict[str, object]:
        """The last of what the server wrote to its stderr."""
        said = bytes(self._ring).decode(errors="replace").strip()
        return {"stderr": said} if said else {}

    def ended(self, error: ServerGone | None) -> None:
        """The server broke the rules, or closed a pipe: if it does not exit in a moment, it is ended."""
        if error is not None:
            self.wire.fail(error)
            self._end()
        elif self._timer is None and not self._exited.done():
            self._timer = self._loop.call_later(_AFTERLIFE_SECONDS, self._give_up)

    async def _leave(self, patience: float) -> None:
        """Close its input, and wait."""
        self.wire.close_writing()
        if patience > 0 and not self._exited.done():
            await asyncio.wait((self._exited,), timeout=patience)
        if self._ending is not None:
            await self._ending

    async def _release(self) -> None:
        """SIGTERM, then SIGKILL: there are no survivors."""
        try:
            await self.group.end(PATIENCE)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self.wire.close()
            self._close_stderr()
            self.group.forget()

    def _exit(self) -> None:
        """The leader is gone: what it said last counts, then every call in flight fails, and its group goes, too."""
        self._exited.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
        self.wire.drain()
        self._read_stderr()
        self._end()
        code = self.group.exit_code
        known: dict[str, object] = {} if code is None else {"exit_code": code} if code >= 0 else {"signal": -code}
        self.wire.fail(ServerGone(TERMINATED, details={**known, **self.describe()}))

    def _give_up(self) -> None:
        self._read_stderr()
        known = {"cause": "it closed its pipes and kept running", **self.describe()}
        self.wire.fail(ServerGone(TERMINATED, details=known))
        self._end()

    def _end(self) -> None:
        """Have the group ended; its leader's exit code is known at once if it has exited."""
        if self._ending is None and self._closing is None:
            self.group.terminate()
            self._ending = self._loop.create_task(self.group.end(PATIENCE))

    def _read_stderr(self) -> None:
        if self._stderr < 0:
            return
        try:
            data = os.read(self._stderr, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close_stderr()
            return
        self._ring += data
        del self._ring[:-_RING_BYTES]

    def _close_stderr(self) -> None:
        if self._stderr >= 0:
            self._loop.remove_reader(self._stderr)
            os.close(self._stderr)
            self._stderr = -1


def _refusal(error: StepError, command: str, cwd: str | None) -> ServerError:
    """Why a server could not be started, in the words that are promised for the usual case."""
    cause = error.__cause__
    missing = isinstance(cause, FileNotFoundError | NotADirectoryError) and cause.filename != cwd
    if missing and not ("/" in command and os.path.lexists(os.path.join(cwd or "", command))):  # noqa: PTH118
        return ServerError(f"Command not found: {command}", suggestions=error.suggestions)
    return ServerError(error.message, details=error.details, suggestions=error.suggestions)
