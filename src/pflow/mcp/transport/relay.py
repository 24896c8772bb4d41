"""Stands between a client and a server that it would have started: bytes go through unchanged, and are overheard."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence

from pflow.core.errors import ServerError, StepError
from pflow.core.session.recording import LongLines, Recording
from pflow.mcp.transport.stdio import PATIENCE
from pflow.process.group import Group
from pflow.process.spawn import spawn

_CHUNK_BYTES = 1 << 16
_LAST_WORDS_SECONDS = 2.0
"""How long the server may take to end by itself after its client has gone, and the client to read its last words."""


class Relay:
    """One conversation over our stdin and stdout with a server that is started for it."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None, recording: Recording) -> None:
        self._argv, self._env, self._cwd = argv, env, cwd
        self._recording = recording
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """End the conversation."""
        self._stopped.set()

    async def hold(self) -> int:
        """Pass everything on until one side has gone; the exit code of the server. Raises `ServerError`."""
        try:
            child, stdin, stdout, stderr = spawn(self._argv, True, self._env, self._cwd)
        except StepError as error:
            raise ServerError(error.message, details=error.details, suggestions=error.suggestions) from error
        for fd in (stdin, stdout, stderr):
            os.set_blocking(fd, True)
        loop = asyncio.get_running_loop()
        client_gone, server_done, exited = asyncio.Event(), asyncio.Event(), asyncio.Event()
        group = Group(child)
        group.watch(exited.set)
        _pass_on(loop, 0, stdin, LongLines(self._recording.asked).feed, client_gone, closes=True)
        _pass_on(loop, stdout, 1, LongLines(self._recording.answered).feed, server_done)
        _pass_on(loop, stderr, 2, None, None)
        try:
            await _first(client_gone, server_done, exited, self._stopped)
            if not self._stopped.is_set():
                await _first(exited, self._stopped, within=_LAST_WORDS_SECONDS)
        finally:
            await group.end(PATIENCE)
            group.forget()
        await _first(server_done, within=_LAST_WORDS_SECONDS)
        self._recording.close()
        code = group.exit_code
        if code is None or client_gone.is_set() or self._stopped.is_set():
            return 0
        return code if code >= 0 else 128 - code


async def _first(*events: asyncio.Event, within: float | None = None) -> None:
    """Wait for one of the events."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


def _pass_on(
    loop: asyncio.AbstractEventLoop,
    source: int,
    target: int,
    hear: Callable[[bytes], None] | None,
    ended: asyncio.Event | None,
    *,
    closes: bool = False,
) -> None:
    """Copy from one descriptor to another in a thread, which nobody waits for when the process ends.

    A side that does not read holds up only what is sent to it.
    """

    def copy() -> None:
        try:
            while data := os.read(source, _CHUNK_BYTES):
                if hear is not None:
                    hear(data)  # first, so that a call is known before its answer, and that before the next call
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(target, rest) :]
        except OSError:
            pass  # one of the sides has gone
        if closes:
            os.close(target)
        if ended is not None:
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=copy, daemon=True).start()
