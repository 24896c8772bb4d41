"""Reads lines from the terminal on an event loop, so that waiting for one can be given up at any time."""

from __future__ import annotations

import asyncio
import os
import sys
import termios

_AT_ONCE = 4096


def drop_typed() -> None:
    """Forget what was typed before it was asked for: it was meant for something else."""
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        pass  # the terminal is gone, which reading from it tells


async def read_line(prompt: str) -> str | None:
    """The line that a person types after the prompt, without its end; None if the terminal is closed, or on Ctrl-D."""
    loop, fd = asyncio.get_running_loop(), sys.stdin.fileno()
    typed = bytearray()
    line: asyncio.Future[str | None] = loop.create_future()

    def take() -> None:
        try:
            part = os.read(fd, _AT_ONCE)
        except OSError:
            part = b""
        typed.extend(part)
        if line.done() or (part and not part.endswith(b"\n")):
            return
        line.set_result(typed.decode(sys.stdin.encoding or "utf-8", "replace").rstrip("\r\n") if typed else None)

    _show(prompt)
    loop.add_reader(fd, take)
    try:
        return await line
    finally:
        loop.remove_reader(fd)


def _show(prompt: str) -> None:
    sys.stderr.write(prompt)
    sys.stderr.flush()
