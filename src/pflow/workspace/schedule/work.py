"""What a tick starts: each run in a process of its own, since directory and search path are those of a process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from pflow.core.clock import now
from pflow.core.errors import NotFoundError
from pflow.core.file.home import Home
from pflow.core.schedule.schedule import Schedule
from pflow.engine.ports import Journal, Schedules, Tick
from pflow.workspace.schedule.look import Lookout
from pflow.workspace.schedule.report import TickItem

MOST_PROCESSES = 10
"""Runs at once of those that one look found; more wait their turn."""


class Yard:
    """What the works of one look share."""

    def __init__(self, home: Home, schedules: Schedules, journal: Journal, lookout: Lookout) -> None:
        self.home = home
        self.schedules = schedules
        self.journal = journal
        self.lookout = lookout
        self.room = asyncio.Semaphore(MOST_PROCESSES)


class Work:
    """A run that begins or goes on in a process of its own: `finish` starts it and waits for its end.

    It runs in the directory `cwd`. `stage` tells it from an earlier work on the same run.
    """

    schedule = ""
    """The name of the schedule that the run belongs to, if it does."""

    def __init__(self, yard: Yard, run_id: str, cwd: str, *, stage: str) -> None:
        self.run_id = run_id
        self.stage = stage
        self._yard = yard
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._stopped = False
        self._signal = signal.SIGTERM

    async def finish(self) -> TickItem:
        """What became of it."""
        async with self._yard.room:
            if self._stopped:
                return self._give_up("it was stopped before the run began", is_lost=True)
            try:
                self._process = await self._start()
            except OSError as error:
                return self._give_up(self._problem(error))
            self._tell()  # if it was stopped while it was being started
            await self._process.wait()
        return self._settle()

    def stop(self, *, at_once: bool = False) -> None:
        """Let the run stop, resumable, `at_once` or when the steps that are running are finished.

        `finish` ends when it has stopped. To be called on the event loop.
        """
        self._stopped = True
        self._signal = signal.SIGINT if at_once else signal.SIGTERM
        self._tell()

    def _tell(self) -> None:
        """Pass on to the process that it is to stop, if it is."""
        if self._stopped and self._process is not None and self._process.returncode is None:
            self._process.send_signal(self._signal)

    async def _start(self) -> asyncio.subprocess.Process:
        # -P: what is in the directory is not to be imported in place of Python's own modules.
        return await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "pflow", "--json", *self._words()],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            cwd=self._cwd or None,
            env={**os.environ, **self._environment(), "PFLOW_HOME": str(self._yard.home.root)},
            start_new_session=True,
        )

    def _words(self) -> list[str]:
        return ["runs", "resume", self.run_id]

    def _environment(self) -> dict[str, str]:
        return {}

    def _problem(self, error: OSError) -> str:
        if self._cwd and not Path(self._cwd).is_dir():
            return f"its directory `{self._cwd}` does not exist"
        return f"its process cannot be started: {error.strerror}"

    def _settle(self) -> TickItem:
        try:
            return TickItem(state=self._yard.journal.info(self.run_id).state, run_id=self.run_id)
        except NotFoundError:
            return TickItem(state="lost", run_id=self.run_id, note="the run is gone")

    def _give_up(self, note: str, *, is_lost: bool = False) -> TickItem:
        return TickItem(state="lost" if is_lost else "refused", run_id=self.run_id, note=note)


class ScheduledWork(Work):
    """A run of a schedule, where the schedule says. What becomes of it is recorded with its due time."""

    def __init__(self, yard: Yard, run_id: str, schedule: Schedule, *, stage: str) -> None:
        super().__init__(yard, run_id, schedule.cwd, stage=stage)
        self.schedule = schedule.name
        self._plan = schedule

    def _words(self) -> list[str]:
        return ["schedule", "run", self.schedule, "--claimed", self.run_id]

    def _environment(self) -> dict[str, str]:
        return {"PATH": self._plan.path}

    def _settle(self) -> TickItem:
        """By what the process recorded; one that could not is dead by now."""
        tick, lookout = self._tick(), self._yard.lookout
        if tick is None:  # the schedule was removed meanwhile
            return super()._settle()
        return lookout.item(lookout.settle(tick._replace(alive=False), self._plan))

    def _give_up(self, note: str, *, is_lost: bool = False) -> TickItem:
        tick = self._tick()
        if tick is None or tick.outcome != "claimed":
            return super()._give_up(note, is_lost=is_lost)._replace(schedule=self.schedule)
        changed = tick._replace(outcome="lost" if is_lost else "refused", at=now(), note=note)
        self._yard.schedules.put(changed, tick)
        return self._yard.lookout.item(changed)

    def _tick(self) -> Tick | None:
        return self._yard.schedules.started([self.run_id]).get(self.run_id)
