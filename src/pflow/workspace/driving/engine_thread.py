"""Where runs happen: an event loop in a thread of its own, so that the protocol's loop always answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from pflow.core.duration import show_duration
from pflow.core.errors import RunError
from pflow.core.file.home import Home
from pflow.core.project.search import current_directory
from pflow.workspace import Outcome
from pflow.workspace.serving import LiveRun, TimeLimit
from pflow.workspace.warm_workspace import WarmWorkspaces

MOST_RUNS = 200
"""Runs at once; more wait their turn."""

GRACE_SECONDS = 2.0
"""How long steps get to finish when the client of a server has gone."""

_STOPPING_SECONDS = 1.5
_DISCONNECTING_SECONDS = 1.3


class EngineThread:
    """Runs of one process, and what they share. The thread begins with the first of them.

    With `driven` it runs them for others, who take up what is stopped here. `on` names the place where they are kept,
    and `queue` the one of its queues that they are in.
    """

    def __init__(self, home: Home, *, driven: bool = False, on: str = "", queue: str = "") -> None:
        self.workspaces = WarmWorkspaces(home, project=current_directory(), driven=driven, on=on, queue=queue)
        self.on = on
        self.detached: set[str] = set()
        """Runs that were begun here and left to others."""

        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()
        self._live: dict[LiveRun, Future[Outcome]] = {}
        self._turns = asyncio.Semaphore(MOST_RUNS)
        self._leaving = threading.Event()
        self._left = 0.0

    async def follow(self, begin: Callable[[], LiveRun]) -> Outcome:
        """Begin a run, see it through and wait for it. A caller that gives up waiting stops it, resumable."""
        caller = _Caller()
        asyncio.run_coroutine_threadsafe(self._begin(begin, caller), self._running())
        try:
            return await asyncio.shield(asyncio.wrap_future(caller.ended))
        except asyncio.CancelledError:
            caller.has_left = not self._leaving.is_set()  # a client that goes away leaves steps the time to finish
            if caller.run is not None and caller.has_left:
                self._soon(caller.run)
            raise

    def launch(self, run: LiveRun) -> Future[Outcome]:
        """Run to the end, whether or not anyone waits for it."""
        self._check_open()
        future = asyncio.run_coroutine_threadsafe(self._finish(run), self._running())
        self._know(run, future)
        return future

    def find_live(self, run_id: str) -> Future[Outcome] | None:
        """What a run of this process will give; None if it has ended, or runs elsewhere."""
        found = (future for run, future in list(self._live.items()) if run.run_id == run_id and not future.done())
        return next(found, None)

    def halt(self, run_id: str) -> None:
        """Stop a run of this process at once: somebody else has it, or may have it."""
        for run in [run for run in list(self._live) if run.run_id == run_id]:
            self._soon(run)

    def stop_after(self, run: LiveRun, limit: TimeLimit) -> None:
        """Stop a run of this process when its time is over; nobody goes on with it by themselves."""
        loop = self._running()
        reason = f"it took longer than {show_duration(limit.seconds)}, the timeout of its schedule"

        def end() -> None:
            if run in self._live:
                run.stop(reason=reason, hand_over=False)

        loop.call_soon_threadsafe(lambda: loop.call_later(max(limit.left, 0.0), end))

    def leave(self, *, graceful: bool) -> None:
        """Begin to stop every run, resumable; no new ones begin. Only the first call counts."""
        if self._leaving.is_set():
            return
        self._leaving.set()
        self._left = time.monotonic()
        for run in list(self._live):
            self._soon(run, graceful=graceful, reason="disconnected" if graceful else "interrupted")

    async def close(self, *, patient: bool = False) -> None:
        """Stop every run, then end the connections, the journal and the thread.

        Being `patient`, wait for the steps that are running, however long they take.
        """
        self.leave(graceful=True)
        loop = self._loop
        if loop is not None:
            await self._wait(None if patient else max(0.0, GRACE_SECONDS - (time.monotonic() - self._left)))
            for run in list(self._live):
                self._soon(run, reason="disconnected")
            await self._wait(_STOPPING_SECONDS)
            ending = asyncio.run_coroutine_threadsafe(self.workspaces.disconnect(), loop)
            await asyncio.wait([asyncio.ensure_future(asyncio.wrap_future(ending))], timeout=_DISCONNECTING_SECONDS)
        self.workspaces.close()
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _check_open(self) -> None:
        if self._leaving.is_set():
            raise RunError("the server is shutting down", suggestions=["start the run again when it is back"])

    def _know(self, run: LiveRun, future: Future[Outcome]) -> None:
        self._live[run] = future
        future.add_done_callback(lambda _: self._live.pop(run, None))
        if self._leaving.is_set():  # meanwhile, on another thread
            self._soon(run, graceful=True, reason="disconnected")

    async def _begin(self, begin: Callable[[], LiveRun], caller: _Caller) -> None:
        """Begin a run, see it through and tell its caller.

        To begin may take long for a long document. It is done right here only while that keeps no other run waiting,
        because to wake another thread up takes as long as to begin a short one.
        """
        try:
            self._check_open()
            caller.run = run = await asyncio.to_thread(begin) if self._live or self.on else begin()
            self._know(run, caller.ended)
            if caller.has_left:
                run.stop()
            caller.ended.set_result(await self._finish(run))
        except BaseException as error:  # whatever it is, it is the caller's to hear
            caller.ended.set_exception(error)
            raise

    async def _finish(self, run: LiveRun) -> Outcome:
        async with self._turns:
            return await run.finish()

    async def _wait(self, seconds: float | None) -> None:
        waiting = [asyncio.ensure_future(asyncio.wrap_future(future)) for future in list(self._live.values())]
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)

    def _soon(self, run: LiveRun, *, graceful: bool = False, reason: str = "interrupted") -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: run.stop(graceful=graceful, reason=reason))

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=(self._loop,), name="pflow-engine", daemon=True).start()
            return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()


class _Caller:
    """Whoever waits for a run, from before it begins."""

    def __init__(self) -> None:
        self.run: LiveRun | None = None
        self.has_left = False
        self.ended: Future[Outcome] = Future()
        self.ended.set_running_or_notify_cancel()  # who waits for it may go away, and that does not end it
