"""Messages over a pair of file descriptors, one to a line."""

from __future__ import annotations

import asyncio
import os

from pflow.core.errors import ServerGone
from pflow.mcp.protocol.json_line import LINE_LIMIT, Lines
from pflow.mcp.protocol.rpc import IDLE, Rpc
from pflow.mcp.protocol.session import Link

_CHUNK_BYTES = 1 << 16
_MOST_DRAINED_CHUNKS = 512
_MOST_QUEUED_BYTES = 1 << 20


class Wire(Rpc):
    """A connection, open from the start."""

    garbage = "the MCP server wrote something other than messages to its output"

    def __init__(
        self, reading: int, writing: int, link: Link, *, limit: int = LINE_LIMIT, write_timeout: float = IDLE
    ) -> None:
        super().__init__(link)
        self._limit = limit
        self._lines = Lines(limit)
        self._reading, self._writing = reading, writing
        self._same = reading == writing
        self._write_timeout = write_timeout
        self._queue = bytearray()
        self._sent = 0
        self._write_timer: asyncio.TimerHandle | None = None
        self._loop.add_reader(reading, self._receive)

    def drain(self) -> None:
        """Take what already arrived, up to a bound."""
        for _ in range(_MOST_DRAINED_CHUNKS):
            if not self._receive():
                break

    def close_writing(self) -> None:
        """Tell the server that nothing more comes."""
        self._queue.clear()
        if self._write_timer is not None:
            self._write_timer.cancel()
        if self._writing >= 0:
            self._loop.remove_writer(self._writing)
            if not self._same:
                os.close(self._writing)
            self._writing = -1

    def close(self) -> None:
        """Let go of everything; what is still in flight must have been failed."""
        self.close_writing()
        if self._timer is not None:
            self._timer.cancel()
        if self._reading >= 0:
            self._loop.remove_reader(self._reading)
            os.close(self._reading)
            self._reading = -1

    def _send(self, data: bytes) -> None:
        if self._writing < 0:
            return
        if self._queue:
            self._queue += data
            return
        sent = self._write(data)
        if 0 <= sent < len(data):
            self._queue += memoryview(data)[sent:]
            self._loop.add_writer(self._writing, self._write_queued)
            self._write_timer = self._loop.call_later(self._write_timeout, self._check_writing, self._sent)

    def _write(self, data: bytes | memoryview) -> int:
        """How much was written: −1 when nothing can be any more."""
        try:
            sent = os.write(self._writing, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.close_writing()
            self._link.ended(None)
            return -1
        self._sent += sent
        return sent

    def _write_queued(self) -> None:
        sent = self._write(bytes(self._queue[:_CHUNK_BYTES]))
        if sent > 0:
            del self._queue[:sent]
        if not self._queue and self._writing >= 0:
            self._loop.remove_writer(self._writing)
            if self._write_timer is not None:
                self._write_timer.cancel()

    def _check_writing(self, sent: int) -> None:
        if self._sent == sent:
            self._break(f"the MCP server did not read what it was sent for {self._write_timeout:g} s")
        else:
            self._write_timer = self._loop.call_later(self._write_timeout, self._check_writing, self._sent)

    def _receive(self) -> bool:
        """Take some of what arrived; whether there may be more."""
        if self._reading < 0 or self._error is not None:
            return False
        try:
            data = os.read(self._reading, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._reading)
            self._link.ended(None)
            return False
        for line in self._lines.feed(data):
            self._take(line)
        if self._lines.overlong:
            self._break(f"the MCP server sent a line of more than {self._limit:,} bytes")
        return True

    def _break(self, message: str) -> None:
        self._link.ended(ServerGone(message, details=self._link.describe()))

    def _is_busy(self) -> bool:
        return len(self._queue) >= _MOST_QUEUED_BYTES

    def _silence(self) -> None:
        self._loop.remove_reader(self._reading)
