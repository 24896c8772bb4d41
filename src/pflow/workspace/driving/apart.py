"""Drives a run in a process of its own, from an event loop that has other things to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from pflow.workspace.driving.driving import Driving


async def drive_apart(
    driving: Driving, run_id: str, begun: Callable[[], None], stopping: asyncio.Event | None = None
) -> str:
    """Start a process for a run and wait for its end; how the run stands. At `stopping`, the process stops as well.

    Raises `RunError` if no process could take the run up, and `ConflictError` if somebody has it.
    """
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    def end() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(over.set)

    stop = await asyncio.to_thread(driving.start_process, run_id, end)
    begun()
    waiting = [asyncio.create_task(event.wait()) for event in (over, stopping) if event is not None]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
    if not over.is_set():
        stop()
        await over.wait()
    return driving.info(run_id).state
