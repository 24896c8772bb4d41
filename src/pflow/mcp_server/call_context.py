"""One call of a tool: gives it workspaces, does its runs on the engine's thread and tells the client how they go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pflow.mcp_server.engine_thread import EngineThread
from pflow.mcp_server.progress import Beginning, ProgressFeed
from pflow.workspace import Observer, Outcome, Workspace
from pflow.workspace.serving import LiveRun, NullOutput

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context  # definitions of tools are there before the SDK is

Begin = Callable[[Workspace], LiveRun]
"""Begins a run in a workspace. It is called off the event loop."""


class CallContext:
    """What a tool's handler can use while it answers one call."""

    def __init__(self, engine: EngineThread, context: Context[Any, Any] | None) -> None:
        self.workspaces = engine.workspaces
        self._engine = engine
        self._context = context

    async def watch(self, begin: Begin) -> Outcome:
        """Begin a run, see it through, and tell the client how it goes."""
        context = self._context
        meta = context.request_context.meta if context is not None else None
        if context is None or not meta or meta.get("progressToken", meta.get("progress_token")) is None:
            return await self._engine.follow(await self._begin(begin, NullOutput()))
        feed = ProgressFeed(context.report_progress)
        run = await self._begin(begin, feed)
        feed.total = len(run.plan.nodes)
        telling = asyncio.create_task(feed.tell())
        try:
            outcome = await self._engine.follow(run)
        finally:
            telling.cancel()
        await feed.flush()
        return outcome

    async def detach(self, begin: Begin) -> LiveRun:
        """Begin a run and let it go on by itself. Once it has begun, anyone can ask for it."""
        begun = Beginning()
        run = await self._begin(begin, begun)
        self._engine.launch(run).add_done_callback(begun.tell)
        await begun.wait()
        return run

    async def _begin(self, begin: Begin, observer: Observer) -> LiveRun:
        return await asyncio.to_thread(lambda: begin(self.workspaces.open(observer)))
