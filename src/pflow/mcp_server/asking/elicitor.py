"""Asks the person behind a client of the older protocol while their call goes on, one question after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pflow.core.event import StepAsked
from pflow.core.json_type import Json
from pflow.mcp_server.asking.caller import Caller
from pflow.mcp_server.asking.elicitation_form import message_of, read_filled, schema_of
from pflow.workspace.asking.question import Given, Reply, Waiting, show_waiting

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context  # definitions of tools are there before the SDK is

HOLD_SECONDS = 50.0
"""How long a call waits for the answer to a question. Some clients give up after a minute."""

VIA = "mcp-elicitation"
"""The door of answers that a person gives in a form of a client."""

Show = Callable[[str, Json], Awaitable[Mapping[str, object]]]
"""Shows a message and a form to the person; what the client says became of it, nothing if it cannot."""


class Elicitor:
    """Somebody to ask for one run, which asks on the engine's thread, while forms are shown on the protocol's loop.

    Whoever dismisses a form, or leaves it open for too long, is asked nothing more during this call.
    """

    def __init__(self, show: Show, caller: Caller, persons: Callable[[], bool], *, hold: float = HOLD_SECONDS) -> None:
        self._show = show
        self._caller = caller
        self._persons = persons
        self._hold = hold
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        self._is_over = False

    async def ask(self, run_id: str, asked: StepAsked) -> Given | None:
        """What the person says; None if nobody decides."""
        waiting = show_waiting(run_id, asked, _as_it_is)
        async with self._turn:  # in the order in which steps ask, not in that in which threads find out about persons
            if self._is_over or not self._caller.can_ask(waiting, persons=await asyncio.to_thread(self._persons)):
                return None
            asking = asyncio.run_coroutine_threadsafe(self._elicit(waiting), self._loop)
            reply = await asyncio.wrap_future(asking)
        return None if reply is None else Given(reply=reply, by=self._caller.by, via=VIA)

    async def _elicit(self, waiting: Waiting) -> Reply | None:
        response: Mapping[str, object] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hold):
                response = await self._show(message_of(waiting), schema_of(waiting, self._caller.protocol))
        form = read_filled(response)
        self._is_over = form is None
        return None if form is None else form.reply(waiting)


def shows_forms(context: Context[Any, Any]) -> Show:
    """Shows forms to the person behind a client that can be sent requests during a call."""

    async def show(message: str, schema: Json) -> Mapping[str, object]:
        # lazy: the definitions of tools are there before the SDK is
        from mcp.shared.exceptions import MCPError

        try:
            result = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
        except (MCPError, ValueError):  # it has gone, or does not answer as it should
            return {}
        return {"action": result.action, "content": result.content}

    return show


def _as_it_is(value: object) -> object:
    """A run has taken out secrets of what it asks."""
    return value
