"""The daemon of a home: one process that drives its runs when they are due, until a signal comes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from pflow.adapters.driver_mark import DaemonMark
from pflow.core.file.home import Home
from pflow.core.project.search import current_directory
from pflow.engine.ports import RunInfo
from pflow.execution.outcome import Outcome
from pflow.workspace.driving.apart import drive_apart
from pflow.workspace.driving.begun import Begun
from pflow.workspace.driving.driver import Chore, Driver, Say
from pflow.workspace.driving.driving import Driving
from pflow.workspace.driving.engine_thread import EngineThread
from pflow.workspace.driving.until_signal import serve_until_signal
from pflow.workspace.schedule.chore import ScheduleChore

_HOUR = 3600.0
"""Seconds between two looks at whether something is old."""


def run_daemon(home: Home, *, say: Say, once: bool = False) -> int:
    """Drive the runs of a home until a signal comes, or `once` what is due now; the exit code.

    Raises `UsageError` if the home has a daemon already.
    """
    return asyncio.run(_run(home, say, once))


async def _run(home: Home, say: Say, once: bool) -> int:
    here = str(current_directory() or "")
    mark = None if once else DaemonMark(home, here)
    engine = EngineThread(home, driven=True)

    def driving() -> Driving:
        return engine.workspaces.open().driving

    async def take_up(info: RunInfo, begun: Callable[[], None]) -> str:
        taker = await asyncio.to_thread(lambda: driving().taker(info.run_id))
        is_scheduled = await asyncio.to_thread(lambda: engine.workspaces.open().schedules.of_run(info.run_id))
        if is_scheduled or taker.directory not in ("", here):  # which all that runs in a process has in common
            return await drive_apart(driving(), info.run_id, begun, driver.stopping)
        return _describe(await _drive_here(engine, info.run_id, begun))

    schedules = ScheduleChore(lambda: engine.workspaces.open().schedules, say=say, ended=lambda: driver.look_again())
    chores: list[Chore] = [_Housekeeping(driving), schedules]
    driver = Driver(driving, take_up, say=say, chores=chores)

    def stop() -> None:
        if mark is not None:
            mark.retire()
        driver.stop()
        schedules.stop()
        engine.leave(graceful=True)
        say("stopping: steps that are running are finished first")

    async def work() -> None:
        if not once:
            say(f"driving the runs of `{home.root}` in process {os.getpid()}")
        await driver.work(once=once)
        await schedules.close()
        await engine.close(patient=True)

    try:
        return await serve_until_signal(work(), stop=stop)
    finally:
        if mark is not None:
            mark.release()


async def _drive_here(engine: EngineThread, run_id: str, begun: Callable[[], None]) -> Outcome:
    """See a run through on the engine's thread, with the connections and processes that all runs there share."""
    loop = asyncio.get_running_loop()
    observer = Begun(lambda: loop.call_soon_threadsafe(begun))
    run = await asyncio.to_thread(lambda: engine.workspaces.open(observer).begin_resume(run_id))
    return await asyncio.wrap_future(engine.launch(run))


def _describe(outcome: Outcome) -> str:
    reason = (outcome.error or {}).get("message") if outcome.status == "failed" else None
    how = f"{outcome.status}: {reason}" if reason else outcome.status
    return "; ".join([how, *outcome.notices])


class _Housekeeping:
    """Deletes what is old, also when no run ends that would do it."""

    def __init__(self, driving: Callable[[], Driving]) -> None:
        self._driving = driving
        self._again = 0.0

    def next_due(self) -> float | None:
        """See `Chore`. Whichever way the clock is set, an hour is an hour."""
        return 0.0 if time.monotonic() >= self._again else None

    def tick(self) -> Sequence[str]:
        """See `Chore`."""
        self._again = time.monotonic() + _HOUR
        return self._driving().keep_house()
