"""Server-sent events, cut from a stream of bytes as the standard has it."""

from __future__ import annotations

from pflow.mcp.protocol.json_line import LINE_LIMIT, Lines

_BOM = b"\xef\xbb\xbf"
_PER_LINE = 64
"""What a line of data costs on top of its bytes, so that countless empty ones have a limit, too."""

_LONGEST_ID_BYTES = 1024
_SPARE = 16
"""Room for the name of a field, so that data of just the limit passes."""


class Events:
    """Events of a stream. Once `overlong`, one went beyond the limit and nothing after it counts."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.overlong = False
        self.size = 0
        """Bytes that were fed."""
        self.last_id = ""
        self.retry: float | None = None
        self._limit = limit
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self.restart()

    def restart(self) -> None:
        """Read a new stream that goes on where the last one broke off."""
        self._lines = Lines(self._limit + _SPARE)
        self._first = True
        self._after_return = False
        self._next_id = self.last_id
        self._clear()

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """The events that `data` completes, each with its type and data."""
        self.size += len(data)
        return self._feed(data)

    def finish(self) -> list[tuple[str, bytes]]:
        """The event that a stream left without the blank line at its end."""
        return self._feed(b"\n\n")

    def _feed(self, data: bytes) -> list[tuple[str, bytes]]:
        if self._after_return and data.startswith(b"\n"):
            data = data[1:]
        if not data or self.overlong:
            self._after_return = False
            return []
        self._after_return = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        events: list[tuple[str, bytes]] = []
        for line in self._lines.feed(data):
            if not self._read(line, events):
                self.overlong = True
                return events
        self.overlong = self._lines.overlong
        return events

    def _read(self, line: bytes, events: list[tuple[str, bytes]]) -> bool:
        """Take a line; whether its event is still within the limit."""
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            self.last_id = self._next_id
            if self._data:
                events.append((self._name or "message", b"\n".join(self._data)))
            self._clear()
            return True
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self._size += len(value) + (_PER_LINE if self._data else 0)
                self._data.append(value)
            case b"event":
                self._name = value[:100].decode(errors="replace")
            case b"id":
                self._note_id(value)
            case b"retry" if value.isdigit() and len(value) < 10:
                self.retry = int(value) / 1000
        return self._size <= self._limit

    def _note_id(self, value: bytes) -> None:
        # It goes back to the server in a header, so it must fit into one.
        if len(value) <= _LONGEST_ID_BYTES and (text := value.decode(errors="replace")).isprintable():
            self._next_id = text

    def _clear(self) -> None:
        self._name = ""
        self._data = []
        self._size = 0
