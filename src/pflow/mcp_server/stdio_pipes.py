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

from pflow.core.stdout import take_stdout
from pflow.workspace.serving import LINE_LIMIT, decode

_CHUNK_BYTES = 1 << 18
_PATIENCE_SECONDS = 2.0
_ENDLESS = frozenset({"subscriptions/listen"})
_MOST_WAITING = 256
_END_BYTES = 200
_TEXT = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,100}"'
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")'
_HEAD = re.compile(rb"\s*\{\s*(?:" + _TEXT + rb"\s*,\s*){0,2}" + _ID)
_TAIL = re.compile(rb"[,{]\s*" + _ID + rb"(?:\s*,\s*" + _TEXT + rb"){0,2}\s*\}\s*$")
_logger = logging.getLogger(__name__)


def take_stdio(on_end: Callable[[], None]) -> tuple[Input, Output]:
    """Take stdin and stdout away from the rest of the process.

    Other code that reads stdin finds it at its end, and what other code writes to stdout goes to stderr.
    """
    source = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    output = Output(take_stdout())
    return Input(source, output, on_end), output


class Input(ObjectReceiveStream[SessionMessage]):
    """The messages that a client sends. Lines that are not messages are answered here; reading goes on after them."""

    def __init__(self, source: int, output: Output, on_end: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._output = output
        self._on_end = on_end
        self._kept = bytearray()
        self._head = b""
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
            self._loop.call_later(_PATIENCE_SECONDS, self._stop)

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
        """Stop reading stdin."""
        self._leaving = self._ended = True
        self._pause()

    def _listen(self) -> None:
        self._paused = False
        if self._pollable:
            try:
                self._loop.add_reader(self._source, self._read)
                return
            except PermissionError:
                self._pollable = False  # a file or the null device, which can always be read
        self._loop.call_soon(self._read)

    def _pause(self) -> None:
        if not self._paused and self._pollable:
            self._loop.remove_reader(self._source)
        self._paused = True

    def _read(self) -> None:
        if self._paused:
            return
        try:
            data = os.read(self._source, _CHUNK_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._end_line()
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
            self._keep(line)
            self._end_line()
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        """Keep a part of a line; of a line that is too long only its two ends."""
        self._kept += part
        if self._head or len(self._kept) > LINE_LIMIT:
            self._head = self._head or bytes(self._kept[:_END_BYTES])
            del self._kept[:-_END_BYTES]

    def _end_line(self) -> None:
        head, line = self._head, bytes(self._kept)
        self._head = b""
        self._kept.clear()
        if head:
            self._output.refuse(head, line, INVALID_REQUEST, f"a message may have {LINE_LIMIT:,} bytes at most")
        elif line.strip():
            self._take(line)

    def _take(self, line: bytes) -> None:
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
    """The messages to a client. Sending waits while the client does not read."""

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
        """Answer a line that is not a message, under the id near its head or its tail, if there is one."""
        if len(self._rest) > _CHUNK_BYTES:
            return  # a client that sends only such lines and reads no answer gets no more
        found = _HEAD.match(head[:_END_BYTES]) or _TAIL.search(tail[-_END_BYTES:])
        shown = found[1].decode(errors="replace") if found is not None else "null"
        text = orjson.dumps({"code": code, "message": message}).decode()
        self._write(f'{{"jsonrpc":"2.0","id":{shown},"error":{text}}}\n'.encode())

    async def aclose(self) -> None:
        """Give the client a moment to read the rest."""
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
                done = os.write(self._target, memoryview(self._rest)[:_CHUNK_BYTES])
                del self._rest[:done]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # the client no longer reads; the server ends when stdin does
            self._gone = True
            self._rest.clear()
        self._release()

    def _release(self) -> None:
        """Wake senders that wait until everything is written."""
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
