"""Messages over HTTP as 2024-11-05 had it: a standing stream of events, and an endpoint that it names for POST."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing

from pflow.core.errors import PflowError, ServerGone, StepTimeout
from pflow.mcp.protocol.rpc import Call
from pflow.mcp.transport.http_refusal import misfit, read_refusal, refusal
from pflow.mcp.transport.http_wire import STREAM, HttpWire
from pflow.mcp.transport.sse import Events

_ENDED = "the MCP server closed its stream of events"


class SseWire(HttpWire):
    """A server whose replies all come on one stream; when that ends, so does the session."""

    async def listen(self, timeout: float) -> None:
        """Open the stream and wait for the endpoint that it names."""
        named: asyncio.Future[None] = self._loop.create_future()
        task = self._spawn(self._listen(named))
        task.add_done_callback(lambda task: self._listened(task, named))
        try:
            async with asyncio.timeout(timeout):
                await named
        except TimeoutError as error:
            raise StepTimeout(
                f"the MCP server named no endpoint for {timeout:g} s", details=self._link.describe()
            ) from error

    def _overhear(self) -> None:
        """There is no other stream than the one."""

    async def _listen(self, named: asyncio.Future[None]) -> None:
        headers = {"accept": STREAM, "cache-control": "no-store"}
        async with aclosing(await self._channel.send("GET", headers)) as reply:
            if not reply.succeeded:
                said, _ = await read_refusal(reply, self._channel)
                raise refusal(reply, self._channel, said)
            if reply.kind != STREAM:
                raise await misfit(reply, self._channel)
            events = Events(self._limit)
            async with aclosing(reply.chunks()) as chunks:
                async for chunk in chunks:
                    for kind, data in events.feed(chunk):
                        if kind == "endpoint" and not named.done():
                            self._endpoint = self._channel.resolve(data.decode(errors="replace"))
                            named.set_result(None)
                        else:
                            self._take_events([(kind, data)])
                    if events.overlong:
                        raise ServerGone(f"the MCP server sent an event of more than {self._limit:,} bytes")

    def _listened(self, task: asyncio.Task[None], named: asyncio.Future[None]) -> None:
        if task.cancelled():
            named.cancel()
            return
        error = task.exception() or ServerGone(_ENDED, details=self._link.describe())
        if not named.done():
            named.set_exception(error)
        else:
            known = error.message if isinstance(error, PflowError) else type(error).__name__
            self._link.ended(error if isinstance(error, ServerGone) else ServerGone(_ENDED, details={"cause": known}))

    async def _exchange(self, number: int, call: Call, headers: Mapping[str, str], data: bytes, modern: bool) -> None:
        await self._wait_for_greeting()
        async with aclosing(await self._channel.send("POST", headers, data, url=self._endpoint)) as reply:
            if reply.succeeded:
                await reply.discard()
            else:
                await self._take_refusal(number, reply, in_session=True)

    def _exchanged(self, number: int, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:
            super()._exchanged(number, task)
        else:
            del self._exchanges[number]  # the reply comes on the stream
