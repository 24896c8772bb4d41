"""The lines that a long command writes, passed on while it runs; those of a short one are not."""

from __future__ import annotations

import time
from collections.abc import Callable

Hear = Callable[[str, str], None]
"""Takes a line of a command: the name of its stream, and the text."""

LONG_SECONDS = 1.0
"""After this time a command is long enough that somebody may follow it."""

_LONGEST_BYTES = 8_000
"""A line that is longer is passed on in pieces."""

_WAITING_BYTES = 64 << 10
"""How much of what a command wrote in its first second is kept to be passed on then."""


class LiveLines:
    """Takes the bytes of a command's outputs and gives their lines, from when the command has run for a second."""

    def __init__(self, hear: Hear, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._hear = hear
        self._clock = clock
        self._since = clock()
        self._rest: dict[str, bytearray] = {}

    def take(self, stream: str, data: bytes) -> None:
        """A command has written something."""
        rest = self._rest.setdefault(stream, bytearray())
        rest += data
        if not self.is_long:
            del rest[:-_WAITING_BYTES]
            return
        self.pass_on()

    @property
    def is_long(self) -> bool:
        """Whether the command has run for a while."""
        return self._clock() - self._since >= LONG_SECONDS

    def pass_on(self) -> None:
        """Give the lines that are complete. A carriage return ends a line, as progress bars write it."""
        for stream, rest in self._rest.items():
            end = max(rest.rfind(b"\n"), rest.rfind(b"\r"))
            if end < 0 and len(rest) < _LONGEST_BYTES:
                continue
            done = bytes(rest[: end + 1] if end >= 0 else rest)
            del rest[: len(done)]
            for line in done.replace(b"\r", b"\n").split(b"\n"):
                if line:
                    self._hear(stream, line[:_LONGEST_BYTES].decode(errors="replace"))
