"""Works on many servers, a few at a time, and says which ones are waited for."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pflow.mcp.server.config import ServerConfig

MOST = 2 * (os.cpu_count() or 1)
"""Servers at a time: starting them is work for the processor, and each may take a hundred megabytes."""

T = TypeVar("T")
Waiting = Callable[[Sequence[str], int], None]
"""Told, at times, which servers have not answered yet, and how many have yet to be started."""

_FIRST_SECONDS = 3.0
_NEXT_SECONDS = 15.0


async def in_turn(
    servers: Sequence[ServerConfig], work: Callable[[ServerConfig], Awaitable[T]], waiting: Waiting | None = None
) -> list[T]:
    """What the work on each server gives, in their order."""
    room = asyncio.Semaphore(MOST)
    begun: list[str] = []
    done: set[str] = set()

    async def one(server: ServerConfig) -> T:
        async with room:
            begun.append(server.name)
            try:
                return await work(server)
            finally:
                done.add(server.name)

    async def tell(say: Waiting) -> None:
        await asyncio.sleep(_FIRST_SECONDS)
        while True:
            say([name for name in begun if name not in done], len(servers) - len(begun))
            await asyncio.sleep(_NEXT_SECONDS)

    telling = asyncio.create_task(tell(waiting)) if waiting else None
    try:
        return await asyncio.gather(*(one(server) for server in servers))
    finally:
        if telling is not None:
            telling.cancel()
