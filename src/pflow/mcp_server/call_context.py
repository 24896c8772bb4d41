"""One call of a tool: gives it workspaces, does its runs on the engine's thread and tells the client how they go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pflow.core.advice import Advice
from pflow.core.errors import ConflictError, PflowError, SecurityError, UsageError
from pflow.mcp_server.asking.caller import Caller, asks_persons
from pflow.mcp_server.asking.elicitor import HOLD_SECONDS, Elicitor, shows_forms
from pflow.mcp_server.elsewhere import GOING_ON, end_run
from pflow.mcp_server.progress import ProgressFeed
from pflow.workspace import Observer, Outcome, Workspace
from pflow.workspace.again.again import Claim
from pflow.workspace.asking.question import Answer, Answered
from pflow.workspace.driving.engine_thread import EngineThread
from pflow.workspace.serving import LiveRun, NullOutput, Parts, Patience

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context  # definitions of tools are there before the SDK is

_CANCELLING_SECONDS = 5.0
"""How long a call waits for a run to end that it has cancelled."""

_LOOK_SECONDS = 0.05

Begin = Callable[[Workspace], LiveRun]
"""Begins a run in a workspace. It is called on a thread that is not the protocol's."""


class CallContext:
    """What a tool's handler can use while it answers one call."""

    def __init__(
        self,
        engine: EngineThread,
        context: Context[Any, Any] | None,
        caller: Caller,
        *,
        brought: Answered | None = None,
    ) -> None:
        self.workspaces = engine.workspaces
        self._engine = engine
        self._context = context
        self._caller = caller
        self._brought = brought
        self.answered = brought
        """Questions that were answered with this call, if any were."""

    @property
    def is_continued(self) -> bool:
        """Whether an earlier call did what this one asks for, up to a question that this one brings the answer to."""
        return self._brought is not None

    async def watch(self, begin: Begin, given: Mapping[str, object] | None = None, *, lends: bool = True) -> Outcome:
        """Begin a run, see it through, and tell the client how it goes. With `lends`, its agent can answer prompts.

        A call that brings answers goes on with the run that asked for them, instead of beginning one. It needs what was
        `given` to the run as secret inputs, which are not kept.
        """
        context = self._context
        if self.answered is not None and self._engine.on:
            run_id = self.answered.run_id
            await asyncio.to_thread(lambda: self.workspaces.open().driving.take_up(run_id))
            raise ConflictError(f"run `{run_id}` goes on at `{self._engine.on}`")  # with the answers
        if self._brought is not None:
            begin = _resume(self._brought.run_id, given or {})
        meta = context.request_context.meta if context is not None else None
        parts = self._watched_parts(lends)
        if context is None or not meta or meta.get("progressToken", meta.get("progress_token")) is None:
            return await self._follow(lambda: self._begin_watched(begin, NullOutput(), parts))
        feed = ProgressFeed(context.report_progress)

        def begin_told() -> LiveRun:
            run = self._begin_watched(begin, feed, parts)
            feed.total = len(run.plan.drawn.nodes)
            return run

        telling = asyncio.create_task(feed.tell())
        try:
            outcome = await self._follow(begin_told)
        finally:
            telling.cancel()
        await feed.flush()
        return outcome

    async def detach(self, begin: Begin) -> str:
        """Begin a run and leave it to others to drive; its id. It outlives the server, and anyone can ask for it."""

        def leave() -> str:
            workspace = self.workspaces.open(lends=True)
            return workspace.detach(begin(workspace)).run_id

        run_id = await asyncio.to_thread(leave)
        self._engine.detached.add(run_id)
        return run_id

    async def answer(self, reference: str, answers: Sequence[Answer], via: str) -> str:
        """Answer questions of a run as an agent; its id."""

        def deliver() -> Answered:
            workspace = self.workspaces.open()
            run_id = workspace.find_run(reference)
            return workspace.inbox.answer_all(run_id, answers, by=self._caller.by, via=via, is_person=False)

        self.answered = await asyncio.to_thread(deliver)
        return self.answered.run_id

    async def settle(self, reference: str, claims: Sequence[Claim]) -> str:
        """Say what became of steps in doubt of a run; its id."""
        again = self.workspaces.open().again
        settled = await asyncio.to_thread(lambda: again.settle_all(reference, claims, by=self._caller.by))
        return settled.run_id

    async def rests(self, run_id: str) -> bool:
        """Wait until a run that another process drives has ended or waits again, but not long; whether it does."""
        until = time.monotonic() + HOLD_SECONDS
        while time.monotonic() < until:
            info = await asyncio.to_thread(lambda: self.workspaces.open().driving.info(run_id))
            if info.state != "running" and not (info.status == "waiting" and info.has_mail):
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return False

    async def cancel(self, reference: str) -> tuple[str, str]:
        """End a run for good that this server began; its id, and how it stands.

        Runs that others began are theirs to end: one that is cancelled cannot go on.
        """
        run_id = await asyncio.to_thread(lambda: self.workspaces.open().find_run(reference))
        if not await asyncio.to_thread(self._may_cancel, run_id):
            raise await asyncio.to_thread(lambda: _refusal(run_id, self.workspaces.open().show_run(run_id)))
        is_over = await asyncio.to_thread(end_run, self.workspaces.open, run_id, seconds=_CANCELLING_SECONDS)
        return run_id, "cancelled" if is_over else "running"

    def _may_cancel(self, run_id: str) -> bool:
        """Whether a run goes on that this server began."""
        is_own = run_id in self._engine.detached or self._engine.find_live(run_id) is not None
        return is_own and self.workspaces.open().driving.info(run_id).status in GOING_ON

    async def _follow(self, begin: Callable[[], LiveRun]) -> Outcome:
        """Begin a run and see it through.

        One whose questions this call answered may be under way here already: then wait for that.
        """
        try:
            outcome = await self._engine.follow(begin)
        except ConflictError:
            live = self._engine.find_live(self.answered.run_id) if self.answered is not None else None
            if live is None:
                raise
            outcome = await asyncio.shield(asyncio.wrap_future(live))
        if outcome.status == "waiting":
            self._engine.detached.add(outcome.run_id)
        return outcome

    def _watched_parts(self, lends: bool) -> Parts:
        """What a run needs whose questions the client hears of: at once where it can be asked, else when all is done.

        To be called on the protocol's loop, which shows the questions.
        """
        parts: Parts = {"patience": Patience(hands_back=True), "lends": lends}
        context, caller = self._context, self._caller
        if context is not None and caller.takes_forms and not caller.is_modern:
            workspaces = self.workspaces
            parts["asker"] = Elicitor(shows_forms(context), caller, lambda: asks_persons(workspaces.open()))
        return parts

    def _begin_watched(self, begin: Begin, observer: Observer, parts: Parts) -> LiveRun:
        run = self._begin_left(begin, self.workspaces.open(observer, **parts))
        if self._engine.on:
            self._engine.detached.add(run.run_id)  # it goes on if this call does not wait for it
        return run

    def _begin_left(self, begin: Begin, workspace: Workspace) -> LiveRun:
        """Begin a run; one that this call answered, only if nobody has taken it up since."""
        if self.answered is not None and self.answered.places:
            workspace.inbox.check_left(self.answered)
        return begin(workspace)


def _resume(run_id: str, given: Mapping[str, object]) -> Begin:
    def begin(workspace: Workspace) -> LiveRun:
        kept = workspace.show_run(run_id).get("inputs") if given else None
        secret = {name: value for name, value in given.items() if not isinstance(kept, Mapping) or name not in kept}
        return workspace.begin_resume(run_id, params=secret)

    return begin


def _refusal(run_id: str, run: Mapping[str, object]) -> PflowError:
    """Why a run is not cancelled that is not one of this server's."""
    if run["status"] not in GOING_ON:
        return UsageError(f"run `{run_id}` does not run: it is {run['status']}")
    advice = Advice("ask the person who runs pflow; they can end it in a terminal, with `{cancel_run}`", run=run_id)
    return SecurityError(
        f"run `{run_id}` was not started by this server, so it cannot be cancelled here", suggestions=[advice]
    )
