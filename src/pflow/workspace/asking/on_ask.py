"""A callable of the program as somebody who can be asked: `Workspace(on_ask=…)`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from weakref import WeakKeyDictionary

from pflow.core.errors import InputError
from pflow.core.event import StepAsked
from pflow.engine.asking.form import Reply, read_reply
from pflow.engine.ports import Given
from pflow.engine.thread import Threads
from pflow.execution.asking.answer import Waiting, show_waiting

OnAsk = Callable[[Waiting], object]
"""Is asked a question: gives a choice, a mapping of fields, a `Reply`, or None to leave it waiting. May be async."""


class CallableAsker:
    """Asks a callable: a synchronous one in a thread, one question after the other.

    Whatever it does wrong, the run is left waiting and a notice says why.
    """

    def __init__(self, on_ask: OnAsk, say: Callable[[str], None]) -> None:
        self._on_ask = on_ask
        self._say = say
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def ask(self, run_id: str, asked: StepAsked) -> Given | None:
        """What the callable says."""
        waiting = show_waiting(run_id, asked, lambda value: value)
        try:
            reply = _as_reply(await self._call(waiting))
            if reply is not None and not reply.declined:
                read_reply(asked.form, reply)
        except InputError as error:
            self._say(_left(waiting, f"what `on_ask` gave is not an answer: {error.message}"))
            return None
        except Exception as error:  # noqa: BLE001 the program's own code, which must not fail the run
            self._say(_left(waiting, f"`on_ask` raised {type(error).__name__}: {error}"))
            return None
        return None if reply is None else Given(reply=reply, by="", via="python")

    async def _call(self, waiting: Waiting) -> object:
        if inspect.iscoroutinefunction(self._on_ask):
            return await self._on_ask(waiting)
        async with self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            threads = Threads()  # it may block, and other steps go on meanwhile
            try:
                found = await threads.call(self._on_ask, waiting)
            finally:
                threads.close()
        return await found if inspect.isawaitable(found) else found


def _as_reply(found: object) -> Reply | None:
    if found is None or isinstance(found, Reply):
        return found
    if isinstance(found, str):
        return Reply(choice=found)
    if isinstance(found, Mapping):
        return Reply(fields={str(name): value for name, value in found.items()})
    raise InputError(f"it is of type {type(found).__name__}; give a choice, a mapping of fields, a `Reply` or None")


def _left(waiting: Waiting, why: str) -> str:
    return f"`{waiting.place}` of run `{waiting.run_id}` is left waiting: {why}"
