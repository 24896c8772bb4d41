"""pflow as an MCP server over stdin and stdout: there at once, while the SDK that does most of the work still loads."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from pflow.core.file.home import Home
from pflow.core.json_type import Json, object_in
from pflow.mcp_server.greeting import Greeter
from pflow.mcp_server.message import Id, read_id, request_id
from pflow.mcp_server.stdio_pipes import take_stdio
from pflow.workspace.driving.until_signal import serve_until_signal

if TYPE_CHECKING:
    from pflow.mcp_server.tool_server import PflowServer

_MOST_WAITING = 256
_PATIENCE_SECONDS = 2.0
"""How long what was asked may take to be answered when the client has closed its end."""

_IDLE_SECONDS = 1.0
"""How long the SDK is left alone if nothing needs it. It would slow down the first answers."""

_ENDLESS = "subscriptions/listen"


def run_server(home: Home, *, toolset: str = "full", on: str = "") -> int:
    """Serve until the client has gone or a signal comes; the exit code. `on` names the place that runs are at."""
    logging.basicConfig(level=logging.WARNING, format="pflow: %(message)s", stream=sys.stderr)
    return asyncio.run(_serve(home, toolset, on))


async def _serve(home: Home, toolset: str, on: str) -> int:
    conversation = Conversation(home, toolset, on)
    return await serve_until_signal(conversation.hold(), stop=conversation.stop)


class Conversation:
    """Everything between one client and the server.

    What can be answered without the SDK always is; the rest waits for it, in order.
    """

    def __init__(self, home: Home, toolset: str, on: str) -> None:
        self._home = home
        self._on = on
        self._toolset = toolset
        self._input, self._output = take_stdio()
        self._greeter = Greeter(toolset)
        self._queue: asyncio.Queue[Json | None] = asyncio.Queue(_MOST_WAITING)
        self._owed: Counter[Id] = Counter()
        self._paid = asyncio.Event()
        self._replayed = os.urandom(16).hex()
        self._server: PflowServer | None = None
        self._loaded = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._serving: asyncio.Task[None] | None = None

    async def hold(self) -> None:
        """Answer until the client has closed its end, or `stop` is called."""
        asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._load)
        self._listening = asyncio.create_task(self._listen())
        await asyncio.wait([self._listening])
        if not self._listening.cancelled():
            self._listening.result()
        serving = self._serving
        if serving is not None and (self._server is not None or serving.done()):
            if not serving.done():
                await self._queue.put(None)
            await serving
        await self._output.close()

    def stop(self) -> None:
        """Break off, as if the client had closed its end and waited for nothing."""
        if self._server is not None:
            self._server.engine.leave(graceful=False)
        self._input.end()
        if self._listening is not None:
            self._listening.cancel()

    async def _listen(self) -> None:
        while (message := await self._input.receive()) is not None:
            greeted = self._greeter.greet(message)
            if greeted.reply is not None:
                await self._output.post(greeted.reply)
            if greeted.pass_on:
                await self._pass_on(message, is_answered=greeted.reply is not None)
            waits = greeted.reply is None and "id" in message
            if waits or message.get("method") == "tools/list" or self._queue.full():
                self._load()
        await self._settle()

    async def _settle(self) -> None:
        """Answer what was asked before the client closed its end, if it does not take long."""
        if self._owed:
            await self._loaded.wait()
        if self._server is not None:
            self._server.engine.leave(graceful=True)
        if self._server is not None and self._owed:
            self._paid.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._paid.wait(), _PATIENCE_SECONDS)

    async def _pass_on(self, message: Json, *, is_answered: bool) -> None:
        number = request_id(message)
        if is_answered:
            # Under an id that no client uses, because its client has the answer already.
            message = {**message, "id": self._replayed}
        elif message.get("method") == "notifications/cancelled":
            cancelled = read_id(object_in(message, "params").get("requestId"))
            if cancelled is not None:
                self._pay(cancelled)
        elif number is not None and message.get("method", _ENDLESS) != _ENDLESS:
            self._owed[number] += 1
        await self._queue.put(message)

    def _load(self) -> None:
        listening = self._listening
        if self._serving is None and listening is not None and not listening.done():
            self._serving = asyncio.create_task(self._serve())
            self._serving.add_done_callback(lambda _: self.stop())

    async def _serve(self) -> None:
        try:
            # An executor of its own: the loop does not wait for it at its end.
            await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(1), _import_sdk)
            from pflow.mcp_server.sdk_stream import Incoming, Outgoing  # lazy: as in `_import_sdk`
            from pflow.mcp_server.tool_server import PflowServer  # lazy: as in `_import_sdk`

            self._server = PflowServer(self._home, toolset=self._toolset, on=self._on)
        finally:
            self._loaded.set()
        await self._server.converse(Incoming(self._queue), Outgoing(self._send))

    async def _send(self, answers: Id | None, message: bytes) -> None:
        if answers == self._replayed:
            return
        await self._output.send(message)
        if answers is not None:
            self._pay(answers)

    def _pay(self, number: Id) -> None:
        self._owed[number] -= 1
        if self._owed[number] <= 0:
            del self._owed[number]
        if not self._owed:
            self._paid.set()


def _import_sdk() -> None:
    # lazy: the SDK takes longer to load than all of pflow
    import pflow.mcp_server.sdk_stream
    import pflow.mcp_server.tool_server  # noqa: F401
