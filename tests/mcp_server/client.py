"""A client of `pflow serve mcp` on a loop of its own: one server process for as many calls as a test likes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from pflow.mcp.protocol.handshake import Era
from pflow.mcp.protocol.session import Session
from pflow.mcp.transport.stdio import connect_stdio

T = TypeVar("T")

DEADLINE = 60.0
COMMAND = (sys.executable, "-m", "pflow", "serve", "mcp")


class Answer:
    """What a tool answered."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.raw = result
        self.envelope: dict[str, Any] = result["structuredContent"]
        self.text: str = result["content"][0]["text"]
        self.is_error: bool = result.get("isError", False)

    @property
    def data(self) -> Any:
        """The data of a success."""
        assert self.envelope["success"], self.envelope
        assert not self.is_error
        return self.envelope["data"]

    @property
    def error(self) -> dict[str, Any]:
        """The error of a failure."""
        assert not self.envelope["success"], self.envelope
        assert self.is_error
        found: dict[str, Any] = self.envelope["error"]
        return found


class Client:
    """An open session. The loop runs in a thread, so that answers arrive while a test does other things."""

    def __init__(self, home: Path, *words: str, era: Era = "modern", cwd: str | None = None, **env: str) -> None:
        self.home = home
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        environment = {"PFLOW_HOME": str(home), "HOME": str(home.parent), **env}
        self.session: Session = self.wait(
            connect_stdio([*COMMAND, *words], env=environment, era=era, cwd=cwd, timeout=DEADLINE)
        )

    def wait(self, work: Awaitable[T]) -> T:
        """What the work gives, done on the client's loop."""

        async def bounded() -> T:
            async with asyncio.timeout(DEADLINE):
                return await work

        return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result()

    def call(self, tool: str, /, **arguments: object) -> Answer:
        """Call a tool."""
        return self.wait(self.ask(tool, arguments))

    async def ask(self, tool: str, arguments: dict[str, object], **options: Any) -> Answer:
        """Call a tool, on the client's loop."""
        return Answer(await self.session.call_tool(tool, arguments, **options))

    def both(self, *calls: Callable[[], Awaitable[Answer]]) -> list[Answer]:
        """Make calls at once."""

        async def gather() -> list[Answer]:
            return list(await asyncio.gather(*(call() for call in calls)))

        return self.wait(gather())

    def tools(self) -> list[dict[str, Any]]:
        """The definitions of the tools."""
        return self.wait(self.session.list_tools())

    def signal(self, number: signal.Signals) -> None:
        """Send the server a signal."""
        assert self.session.pid is not None
        os.kill(self.session.pid, number)

    def close(self) -> None:
        """End the server."""
        self.wait(self.session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
