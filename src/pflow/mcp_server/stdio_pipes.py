"""The two pipes of a server that its client started: lines in, lines out, and nothing else on stdout.

The SDK's own streams end a session at a line that is too long, leave a broken one unanswered, and keep the process
from ending while stdin is open.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque

from pflow.core.json_type import Json
from pflow.core.stdout import take_stdout
from pflow.mcp_server.message import END_BYTES, Refused, read_message, refuse_long
from pflow.workspace.serving import LINE_LIMIT

_CHUNK_BYTES = 1 << 18
_MOST_WAITING = 256
_MUCH_BYTES = 8 << 20
"""So much may wait to be written. A client may send many requests before it reads the first answer."""


def take_stdio() -> tuple[Input, Output]:
    """Take stdin and stdout away from the rest of the process.

    Other code that reads stdin finds it at its end, and what other code writes to stdout goes to stderr.
    """
    source = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    output = Output(take_stdout())
    return Input(source, output), output


class Input:
    """The messages that a client sends. Lines that are not messages are answered here; reading goes on after them."""

    def __init__(self, source: int, output: Output) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._output = output
        self._kept = bytearray()
        self._head = b""
        self._messages: deque[Json] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._pollable = True
        self._paused = True
        self._listen()

    def end(self) -> None:
        """Read no more, as if the client had closed its end."""
        self._ended = True
        self._pause()
        self._wake()

    async def receive(self) -> Json | None:
        """The next message; None after the last."""
        while not self._messages:
            if self._ended:
                return None
            if self._paused:
                self._listen()
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._messages.popleft()

    def _listen(self) -> None:
        self._paused = False
        if self._pollable:
            try:
                self._loop.add_reader(self._source, self._read)
                return
            except PermissionError:
                self._pollable = False  # a file or the null device, which can always be read
        self._loop.call_soon(self._read)

    def _pause(self) -> None:
        if not self._paused and self._pollable:
            self._loop.remove_reader(self._source)
        self._paused = True

    def _read(self) -> None:
        if self._paused:
            return
        try:
            data = os.read(self._source, _CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._end_line()
            self.end()
            return
        self._split(data)
        if len(self._messages) > _MOST_WAITING:
            self._pause()
        elif not self._pollable:
            self._loop.call_soon(self._read)
        if self._messages:
            self._wake()

    def _split(self, data: bytes) -> None:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._keep(line)
            self._end_line()
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        """Keep a part of a line; of a line that is too long only its two ends."""
        self._kept += part
        if self._head or len(self._kept) > LINE_LIMIT:
            self._head = self._head or bytes(self._kept[:END_BYTES])
            del self._kept[:-END_BYTES]

    def _end_line(self) -> None:
        head, line = self._head, bytes(self._kept)
        self._head = b""
        self._kept.clear()
        if not head and not line.strip():
            return
        found = refuse_long(head, line) if head else read_message(line)
        if not isinstance(found, Refused):
            self._messages.append(found)
        elif found.answerable:
            self._output.refuse(found)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Output:
    """The lines to a client."""

    def __init__(self, target: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._target = target
        self._rest = bytearray()
        self._drained: asyncio.Future[None] | None = None
        self._gone = False
        os.set_blocking(target, False)

    async def send(self, message: bytes) -> None:
        """Write a message, and wait until all of it is written."""
        await self.post(message)
        while (drained := self._drained) is not None:
            await asyncio.shield(drained)

    async def post(self, message: bytes) -> None:
        """Write a message, as soon as there is room for it."""
        while len(self._rest) > _MUCH_BYTES and (drained := self._drained) is not None:
            await asyncio.shield(drained)
        self._write(message + b"\n")

    def refuse(self, refused: Refused) -> None:
        """Answer what is not a message."""
        if len(self._rest) > _CHUNK_BYTES:
            return  # a client that sends only such lines and reads no answer gets no more
        self._write(refused.reply() + b"\n")

    async def close(self) -> None:
        """Give the client a moment to read the rest."""
        if self._drained is not None:
            await asyncio.wait([self._drained], timeout=0.5)
        self._release()
        self._gone = True

    def _write(self, data: bytes) -> None:
        if self._gone:
            return
        if self._rest:
            self._rest += data
            return
        self._rest = bytearray(data)
        self._flush()
        if self._rest and not self._gone:
            self._drained = self._loop.create_future()
            self._loop.add_writer(self._target, self._flush)

    def _flush(self) -> None:
        try:
            while self._rest:
                done = os.write(self._target, memoryview(self._rest)[:_CHUNK_BYTES])
                del self._rest[:done]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # the client no longer reads; the server ends when stdin does
            self._gone = True
            self._rest.clear()
        self._release()

    def _release(self) -> None:
        """Wake senders that wait until everything is written."""
        if self._drained is not None:
            self._loop.remove_writer(self._target)
            drained, self._drained = self._drained, None
            if not drained.done():
                drained.set_result(None)
