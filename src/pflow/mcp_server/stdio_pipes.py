"""The two pipes of a server that its client started: lines in, lines out, and nothing else on stdout.

The SDK's own streams end a session at a line that is too long, leave a broken one unanswered, and keep the process
from ending while stdin is open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import deque
from collections.abc import Callable

import orjson
from anyio import EndOfStream
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from pflow.workspace.serving import LINE_LIMIT, decode

_CHUNK = 1 << 18
_PATIENCE = 2.0
_ENDLESS = frozenset({"subscriptions/listen"})
_MOST_WAITING = 256
_END = 200
_TEXT = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"'
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")'
_HEAD = re.compile(rb"\s*\{\s*(?:" + _TEXT + rb"\s*,\s*){0,2}" + _ID)
_TAIL = re.compile(rb"[,{]\s*" + _ID + rb"(?:\s*,\s*" + _TEXT + rb"){0,2}\s*\}\s*$")
_logger = logging.getLogger(__name__)


class StdioStreams:
    """stdin and stdout, taken away from the rest of the process for as long as it serves.

    Whatever else reads stdin meets its end, and whatever else is written to stdout goes to stderr.
    """

    def __init__(self, on_end: Callable[[], None], *, limit: int = LINE_LIMIT) -> None:
        self._loop = asyncio.get_running_loop()
        source, target = os.dup(0), os.dup(1)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        os.dup2(2, 1)
        self.output = Output(target)
        self.input = Input(source, self.output, on_end, limit)


class Input(ObjectReceiveStream[SessionMessage]):
    """The messages that a client sends. Lines that are not messages are answered here; reading goes on after them."""

    def __init__(self, source: int, output: Output, on_end: Callable[[], None], limit: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._output = output
        self._on_end = on_end
        self._limit = limit
        self._kept = bytearray()
        self._overlong: tuple[bytes, bytes] | None = None
        self._messages: deque[SessionMessage] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._leaving = False
        self._ended = False
        self._pollable = True
        self._paused = True
        self._listen()

    def end(self, *, at_once: bool = True) -> None:
        """Read no more, as if the client had closed its end; unless `at_once`, what was asked is answered first."""
        if not self._leaving:
            self._leaving = True
            self._pause()
            self._on_end()
        if at_once or not self._output.owed:
            self._stop()
        else:
            self._output.on_paid = self._stop
            self._loop.call_later(_PATIENCE, self._stop)

    def _stop(self) -> None:
        self._ended = True
        self._wake()

    async def receive(self) -> SessionMessage:
        """The next message; raises `EndOfStream` after the last."""
        while not self._messages:
            if self._ended:
                raise EndOfStream
            if self._paused and not self._leaving:
                self._listen()
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._messages.popleft()

    async def aclose(self) -> None:
        """Let go of stdin."""
        self._leaving = self._ended = True
        self._pause()

    def _listen(self) -> None:
        self._paused = False
        if self._pollable:
            try:
                self._loop.add_reader(self._source, self._read)
                return
            except PermissionError:
                self._pollable = False  # a file or the null device, which never make anyone wait
        self._loop.call_soon(self._read)

    def _pause(self) -> None:
        if not self._paused and self._pollable:
            self._loop.remove_reader(self._source)
        self._paused = True

    def _read(self) -> None:
        if self._paused:
            return
        try:
            data = os.read(self._source, _CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            if self._kept:
                self._take(bytes(self._kept))
                self._kept.clear()
            self.end(at_once=False)
            self._wake()
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
            if self._overlong is not None:
                head, tail = self._overlong
                self._overlong = None
                self._refuse_long(head, tail + line)
            elif self._kept:
                self._kept += line
                whole = bytes(self._kept)
                self._kept.clear()
                self._take(whole)
            else:
                self._take(line)
        if self._overlong is not None:
            self._overlong = (self._overlong[0], (self._overlong[1] + rest)[-_END:])
            return
        self._kept += rest
        if len(self._kept) > self._limit:
            self._overlong = (bytes(self._kept[:_END]), bytes(self._kept[-_END:]))
            self._kept.clear()

    def _refuse_long(self, head: bytes, tail: bytes) -> None:
        self._output.refuse(head, tail, INVALID_REQUEST, f"a message may have {self._limit:,} bytes at most")

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        if len(line) > self._limit:
            self._refuse_long(line, line)
            return
        try:
            value = decode(line)
        except ValueError as error:
            self._output.refuse(line, line, PARSE_ERROR, f"not JSON that can be read: {error}")
            return
        try:
            message = jsonrpc_message_adapter.validate_python(value, by_name=False)
        except ValueError:
            kind = "batches are not part of this protocol" if isinstance(value, list) else "not a JSON-RPC message"
            self._output.refuse(line, line, INVALID_REQUEST, kind)
            return
        if isinstance(message, JSONRPCRequest) and message.method not in _ENDLESS:
            self._output.owed.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._output.owed.discard((message.params or {}).get("requestId"))
        self._messages.append(SessionMessage(message))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Output(ObjectSendStream[SessionMessage]):
    """The messages to a client. Whoever sends one waits while the client does not read."""

    def __init__(self, target: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._target = target
        self.owed: set[object] = set()
        self.on_paid: Callable[[], None] | None = None
        self._rest = bytearray()
        self._drained: asyncio.Future[None] | None = None
        self._gone = False
        os.set_blocking(target, False)

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message, as soon as there is room for it."""
        await self._drain()
        self._write(_encode(item))
        await self._drain()
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self.owed.discard(item.message.id)
            if not self.owed and self.on_paid is not None:
                self.on_paid()

    def refuse(self, head: bytes, tail: bytes, code: int, message: str) -> None:
        """Answer something that is no message, under the id that stands near its head or its tail, if one does."""
        if len(self._rest) > _CHUNK:
            return  # a client that sends only such lines and reads no answer gets no more
        found = _HEAD.match(head[:_END]) or _TAIL.search(tail[-_END:])
        shown = found[1].decode(errors="replace") if found is not None else "null"
        text = orjson.dumps({"code": code, "message": message}).decode()
        self._write(f'{{"jsonrpc":"2.0","id":{shown},"error":{text}}}\n'.encode())

    async def aclose(self) -> None:
        """Give what is left a moment to be read."""
        if self._drained is not None:
            await asyncio.wait([self._drained], timeout=0.5)
        self._release()
        self._gone = True

    async def _drain(self) -> None:
        while (drained := self._drained) is not None:
            await asyncio.shield(drained)

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
                done = os.write(self._target, memoryview(self._rest)[:_CHUNK])
                del self._rest[:done]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # nobody reads any more; that stdin ends is what ends us
            self._gone = True
            self._rest.clear()
        self._release()

    def _release(self) -> None:
        """Let those go on who wait until everything is written."""
        if self._drained is not None:
            self._loop.remove_writer(self._target)
            drained, self._drained = self._drained, None
            if not drained.done():
                drained.set_result(None)


def _encode(item: SessionMessage) -> bytes:
    message = item.message
    head: dict[str, object]
    if isinstance(message, JSONRPCResponse):
        head = {"jsonrpc": "2.0", "id": message.id, "result": message.result}
    elif isinstance(message, JSONRPCError):
        error = message.error.model_dump(by_alias=True, exclude_unset=True)
        head = {"jsonrpc": "2.0", "id": message.id, "error": error}
    else:
        assert isinstance(message, JSONRPCNotification | JSONRPCRequest)
        head = message.model_dump(by_alias=True, exclude_unset=True)
    try:
        return orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
    except TypeError:
        _logger.warning("an answer could not be written as JSON")
        failure = {"code": INTERNAL_ERROR, "message": "the answer could not be written as JSON"}
        return orjson.dumps({"jsonrpc": "2.0", "id": head.get("id"), "error": failure}) + b"\n"
