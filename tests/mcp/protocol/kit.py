"""Sessions with the hostile server, each on a loop of its own, and the processes they must not leave behind."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import ServerProcess, connect_stdio

T = TypeVar("T")

SCRIPT = str(Path(__file__).with_name("hostile.py"))
DEADLINE = 20.0
"""Far beyond what anything here should take, on however busy a machine."""


def argv(era: str, behaviour: str) -> list[str]:
    return [sys.executable, "-S", "-E", SCRIPT, era, behaviour]


class Kit:
    """Starts hostile servers that write down their numbers and what they are sent."""

    def __init__(self, folder: Path) -> None:
        self.pids_file = folder / "pids"
        self.log_file = folder / "log"

    @property
    def environment(self) -> dict[str, str]:
        return {"PIDS": str(self.pids_file), "LOG": str(self.log_file)}

    async def connect(self, speaks: str, behaviour: str, **options: Any) -> Session:
        return await connect_stdio(argv(speaks, behaviour), **{"env": self.environment, "timeout": DEADLINE, **options})

    def talk(self, speaks: str, behaviour: str, use: Callable[[Session], Awaitable[T]], **options: Any) -> T:
        """What `use` gets from a session with such a server; the session is closed after it."""

        async def main() -> T:
            async with asyncio.timeout(DEADLINE):
                session = await self.connect(speaks, behaviour, **options)
                try:
                    return await use(session)
                finally:
                    await session.close()

        return asyncio.run(main())

    def log(self) -> list[dict[str, Any]]:
        """What the server was sent, in order."""
        return [json.loads(line) for line in self.log_file.read_text().splitlines()]

    def pids(self) -> list[int]:
        return [int(line) for line in self.pids_file.read_text().splitlines()] if self.pids_file.exists() else []


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that some other parent has yet to wait for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False  # gone, or going while it was looked at
    except NotADirectoryError:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < until, "it did not come true"
        time.sleep(0.005)


def process_of(session: Session) -> ServerProcess:
    """The process that a session over its pipes talks to."""
    assert isinstance(session._link, ServerProcess)
    return session._link


async def echo(session: Session, text: str = "hi", **options: Any) -> str:
    """Call the tool and give back its text."""
    result: Any = await session.call_tool("echo", {"text": text}, **options)
    said: str = result["content"][0]["text"]
    return said
