"""Clients that belong to an event loop: made on first use there, and closed with the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary


class Closable(Protocol):
    """Something that holds connections."""

    @property
    def aclose(self) -> Callable[[], Awaitable[None]]:
        """Close them."""


C = TypeVar("C", bound=Closable)


class PerLoop(Generic[C]):
    """The clients of each event loop, by what tells them apart."""

    def __init__(self) -> None:
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AsyncGenerator[None], dict[Hashable, C]]]
        self._clients = WeakKeyDictionary()

    async def get(self, key: Hashable, make: Callable[[], C]) -> C:
        """The client of this event loop for a key."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            opened: dict[Hashable, C] = {}
            self._clients[loop] = life, _ = self._close_with(loop, opened), opened
            await anext(life)
        clients = self._clients[loop][1]
        if key not in clients:
            clients[key] = make()
        return clients[key]

    async def _close_with(self, loop: asyncio.AbstractEventLoop, clients: dict[Hashable, C]) -> AsyncGenerator[None]:
        """Stays suspended until the loop shuts its generators down: the loop's owner need not know of the clients."""
        try:
            yield
        finally:
            self._clients.pop(loop, None)
            for client in clients.values():
                await client.aclose()
