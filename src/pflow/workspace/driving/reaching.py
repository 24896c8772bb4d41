"""A worker says when Temporal goes away, and when it is back: each once, however often calls are tried meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from temporalio.client import Client

from pflow.adapters.temporal.connection import Queue, check_namespace
from pflow.core.errors import StorageError

_LOOKS_PER_LEASE = 2


async def tell_of_outages(client: Client, queue: Queue, say: Callable[[str], None]) -> None:
    """Look again and again whether Temporal answers. Nothing but what is said depends on it."""
    is_there = True
    while True:
        await asyncio.sleep(queue.lease_seconds / _LOOKS_PER_LEASE)
        try:
            await check_namespace(client, queue)
        except StorageError as error:
            if is_there:
                say(f"{error.message}; runs go on here for a lease at least, and others are taken up when it is back")
            is_there = False
        else:
            if not is_there:
                say(f"Temporal at `{queue.address}` is back")
            is_there = True
