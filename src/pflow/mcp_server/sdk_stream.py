"""The streams that the SDK reads from and writes to, over messages that have been read and checked already."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import orjson
from anyio import EndOfStream
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from pflow.core.json_type import Json
from pflow.mcp_server.message import INTERNAL_ERROR, Id

Send = Callable[[Id | None, bytes], Awaitable[None]]
"""Writes a message; for an answer, with the id of its request."""

_logger = logging.getLogger(__name__)


class Incoming(ObjectReceiveStream[SessionMessage]):
    """Messages from a queue, until None comes."""

    def __init__(self, queue: asyncio.Queue[Json | None]) -> None:
        self._queue = queue

    async def receive(self) -> SessionMessage:
        """The next message; raises `EndOfStream` after the last."""
        while (message := await self._queue.get()) is not None:
            try:
                return SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
            except ValueError:
                _logger.warning("a message that the SDK does not take was dropped")
        raise EndOfStream

    async def aclose(self) -> None:
        """The side that fills the queue ends by itself."""


class Outgoing(ObjectSendStream[SessionMessage]):
    """Messages as lines of JSON."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def send(self, item: SessionMessage, /) -> None:
        """Write a message."""
        message = item.message
        answers = message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None
        await self._send(answers, _encode(item))

    async def aclose(self) -> None:
        """What is still to be written is seen to elsewhere."""


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
        return orjson.dumps(head, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        _logger.warning("an answer could not be written as JSON")
        failure = {"code": INTERNAL_ERROR, "message": "the answer could not be written as JSON"}
        return orjson.dumps({"jsonrpc": "2.0", "id": head.get("id"), "error": failure})
