"""News for open pages, as server-sent events: other processes write runs, so the journal's version is looked at."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import orjson

from pflow.core.errors import NotFoundError, PflowError
from pflow.web.data import is_drawn

if TYPE_CHECKING:
    from collections.abc import Generator

    from pflow.web.backend import Backend
    from pflow.workspace import Plan, Workspace
    from pflow.workspace.viewing.viewing import Following

MOST_CLIENTS = 32
_LOOK_SECONDS = 0.1
_TICK_SECONDS = 1.0
"""How often it is seen whether the process of a run is still there: nothing is stored when one is killed."""

_BEAT_SECONDS = 15.0
"""How often a silent connection is used, so that one whose page is gone is noticed."""

_RETRY = b"retry: 1000\n\n"


class Feed:
    """Tells open pages that something has changed. Nobody looks while no page is open."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._version = ""
        self._changed = asyncio.Event()
        self._clients = 0
        self._looking: threading.Event | None = None

    @property
    def is_full(self) -> bool:
        """Whether there are as many clients as there may be."""
        return self._clients >= MOST_CLIENTS

    async def changes(self) -> AsyncIterator[bytes]:
        """An event whenever any run has changed, and one at once: the list may be older than the first look."""
        with self._client():
            yield _RETRY
            told = ""
            while True:
                changed = self._changed  # before the version: what is stored meanwhile must not be missed
                if self._version != told:
                    told = self._version
                    yield _event("runs", told, {})
                elif not await _wait(changed, _BEAT_SECONDS):
                    yield b": still here\n\n"

    async def of_run(self, run_id: str, after: int) -> AsyncIterator[bytes]:
        """What is new in one run, from the record `after` on."""
        with self._client():
            yield _RETRY
            following = await self._backend.read(lambda workspace: _begin(workspace, run_id, after))
            plan: Plan | None = None
            is_planned = False
            told = time.monotonic()
            while True:
                changed = self._changed  # before it is read: what is stored meanwhile must not be missed
                try:
                    news = await self._backend.read(lambda _: following.news())
                except NotFoundError:
                    yield _event("gone", str(following.view.seq), {"run_id": run_id})
                    return
                except PflowError as error:
                    yield _event("problem", str(following.view.seq), {"message": error.message})
                    return
                if news is not None:
                    if not is_planned:
                        is_planned, plan = True, await self._backend.act(lambda workspace: _plan(workspace, run_id))
                    if plan is not None:
                        news["graph"] = _happened(plan, following)
                    yield _event("run", str(following.view.seq), news)
                    told = time.monotonic()
                elif time.monotonic() - told >= _BEAT_SECONDS:
                    yield b": still here\n\n"
                    told = time.monotonic()
                await _wait(changed, _TICK_SECONDS)

    @contextmanager
    def _client(self) -> Generator[None]:
        self._clients += 1
        if self._looking is None:
            self._looking = threading.Event()
            arguments = (self._looking, asyncio.get_running_loop())
            threading.Thread(target=self._look, args=arguments, name="pflow-look", daemon=True).start()
        try:
            yield
        finally:
            self._clients -= 1
            if not self._clients and self._looking is not None:
                self._looking.set()
                self._looking = None
                self._version = ""

    def _look(self, ended: threading.Event, loop: asyncio.AbstractEventLoop) -> None:
        """Look at the version until nobody is interested, on a thread and a connection of its own: that costs least."""
        with self._backend.open() as workspace, suppress(RuntimeError):  # the loop may be closed already
            viewing = workspace.viewing
            version = ""
            while not ended.is_set():
                found = viewing.version()
                if found != version:
                    version = found
                    loop.call_soon_threadsafe(self._tell, version)
                ended.wait(_LOOK_SECONDS)

    def _tell(self, version: str) -> None:
        self._version = version
        self._changed.set()
        self._changed = asyncio.Event()


async def _wait(changed: asyncio.Event, seconds: float) -> bool:
    """Wait for a change, or for so long; whether there was one."""
    try:
        async with asyncio.timeout(seconds):
            await changed.wait()
    except TimeoutError:
        return False
    return True


def _begin(workspace: Workspace, run_id: str, after: int) -> Following:
    following = workspace.viewing.follow(run_id)
    following.skip(after)
    return following


def _plan(workspace: Workspace, run_id: str) -> Plan | None:
    """The plan of a run whose graph is drawn."""
    try:
        return workspace.plan_of(run_id) if is_drawn(workspace, run_id) else None
    except PflowError:
        return None  # a document of another version, or of a program


def _happened(plan: Plan, following: Following) -> dict[str, object]:
    from pflow.drawing.happened import happened_data  # lazy: the page is served sooner without it

    return happened_data(plan, following.told())


def _event(kind: str, number: str, data: object) -> bytes:
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (number.encode(), kind.encode(), orjson.dumps(data, default=str))
