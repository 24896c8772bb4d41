"""One call of a tool: gives it workspaces, does its runs on the engine's thread and tells the client how they go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pflow.core.advice import Advice
from pflow.core.errors import PflowError, SecurityError, UsageError
from pflow.mcp_server.engine_thread import EngineThread
from pflow.mcp_server.progress import Beginning, ProgressFeed
from pflow.workspace import Observer, Outcome, Workspace
from pflow.workspace.serving import LiveRun, NullOutput

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context  # definitions of tools are there before the SDK is

_CANCELLING_SECONDS = 5.0
"""How long a call waits for a run to end that it has cancelled."""

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
        feed.total = len(run.plan.drawn.nodes)
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

    async def cancel(self, reference: str) -> tuple[str, str]:
        """End a run for good that this server began; its id, and how it stands.

        Runs that others began are theirs to end: one that is cancelled cannot go on.
        """
        run_id = await asyncio.to_thread(lambda: self.workspaces.open().find_run(reference))
        future = self._engine.find_live(run_id)
        if future is None:
            raise await asyncio.to_thread(lambda: _refusal(run_id, self.workspaces.open().show_run(run_id)))
        await asyncio.to_thread(lambda: self.workspaces.open().cancel(run_id))
        await asyncio.wait([asyncio.ensure_future(asyncio.wrap_future(future))], timeout=_CANCELLING_SECONDS)
        return run_id, "cancelled" if future.done() else "running"

    async def _begin(self, begin: Begin, observer: Observer) -> LiveRun:
        return await asyncio.to_thread(lambda: begin(self.workspaces.open(observer)))


def _refusal(run_id: str, run: Mapping[str, object]) -> PflowError:
    """Why a run is not cancelled that is not one of this server's."""
    if run["status"] != "running":
        return UsageError(f"run `{run_id}` does not run: it is {run['status']}")
    advice = Advice("ask the person who runs pflow; they can end it in a terminal, with `{cancel_run}`", run=run_id)
    return SecurityError(
        f"run `{run_id}` was not started by this server, so it cannot be cancelled here", suggestions=[advice]
    )
