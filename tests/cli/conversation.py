"""pflow on a terminal of its own, as a person sits before it: what it shows, what they type, and how it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.screen import Screen

CTRL_C, CTRL_D = "\x03", "\x04"
SECONDS = 60
"""Only a program that hangs takes this long."""

_COLUMNS = 100
_OWN_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Makes stdin the controlling terminal of a new session, so that Ctrl-C interrupts pflow."""


class Conversation:
    """A command line in `folder`, on a terminal; `program` is what Python runs."""

    def __init__(
        self,
        folder: Path,
        *words: str,
        term: str = "xterm",
        colour: bool = False,
        program: Sequence[str] = ("-m", "pflow"),
    ) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, _COLUMNS, 0, 0))
        self._seen = self._all = ""
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *program, *words],
            cwd=folder,
            env={**os.environ, "TERM": term, "LANG": "C.UTF-8", "NO_COLOR": "" if colour else "1"},
            stdin=follower,
            stdout=follower,
            stderr=follower,
            start_new_session=True,
        )
        os.close(follower)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def expect(self, text: str) -> Self:
        """Wait until some text was shown since the last time."""
        with self._changed:
            shown = self._changed.wait_for(lambda: text in self._seen, SECONDS)
            assert shown, f"pflow never showed {text!r}, but:\n{self._seen}"
            self._seen = self._seen.partition(text)[2]
        return self

    def press(self, keys: str) -> Self:
        """Press some keys."""
        os.write(self._leader, keys.encode())
        return self

    def end(self) -> int:
        """Wait for the end; the exit code."""
        code = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code

    @property
    def shown(self) -> str:
        """All that pflow has written, as the terminal got it."""
        with self._changed:
            return self._all

    @property
    def lines(self) -> list[str]:
        """What stands on the screen, history included."""
        with self._changed:
            return Screen(_COLUMNS).feed(self._all).lines

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._leader, 4096)
            except OSError:
                return  # the program is gone
            if not data:
                return
            with self._changed:
                text = data.decode(errors="replace")
                self._seen += text
                self._all += text
                self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(SECONDS)
        os.close(self._leader)
