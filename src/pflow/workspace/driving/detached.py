"""The process that drives one run for a client that does not wait. What it needs comes over its standard input.

It ends with the run, or when the run only waits. Where neither a daemon nor a server sees to what comes by itself, one
that was told so stays for that.
"""

from __future__ import annotations

import os
import sys

import orjson

from pflow.core.errors import ConflictError, PflowError
from pflow.core.file.atomic import parse_object
from pflow.core.project.search import current_directory
from pflow.core.schedule.schedule import Schedule
from pflow.engine.asking.waits import Patience
from pflow.workspace.driving.begun import Begun
from pflow.workspace.schedule.surroundings import within
from pflow.workspace.workspace import Workspace


def main() -> None:
    """Drive the run that the command line names."""
    answer = os.dup(1)
    told = parse_object(sys.stdin.buffer.read()) or {}
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what nodes print is for nobody
        os.dup2(nothing, stream)
    code = _drive(sys.argv[1], told, _Client(answer))
    os._exit(code)  # a step that hangs in a thread must not keep the process


def _drive(run_id: str, told: dict[str, object], client: _Client) -> int:
    given = told.get("inputs")
    inputs = given if isinstance(given, dict) else {}
    try:
        with Workspace.open() as workspace:
            patience = Patience(stays=told.get("stays") is True and not workspace.is_driven())
            schedule = None if inputs else workspace.schedules.of_run(run_id)
            if schedule is None:
                workspace.driving.enter_directory(run_id)
        observer = Begun(lambda: client.answer(taken=True))
        if schedule is not None:
            return _drive_scheduled(run_id, schedule, observer, patience)
        with Workspace.open(
            project=current_directory(), observer=observer, driven=True, patience=patience
        ) as workspace:
            run = workspace.begin_resume(run_id, params=inputs, cache=told.get("cache") is not False)
            return workspace.wait(run, signals=True).exit_code
    except ConflictError:
        client.answer(taken=True)  # by somebody else
        return 0
    except PflowError as error:
        client.answer(error=error.message)
        return error.exit_code


def _drive_scheduled(run_id: str, schedule: Schedule, observer: Begun, patience: Patience) -> int:
    """Go on with a run of a schedule by its rules: where it says, for as long as it says, telling of failures."""
    with (
        within(schedule),
        Workspace.open(project=current_directory(), observer=observer, patience=patience) as workspace,
    ):
        outcome = workspace.schedules.run(schedule.name, claimed=run_id).outcome
        return 0 if outcome is None else outcome.exit_code


class _Client:
    """Whoever started this process, who is told once how it begins."""

    def __init__(self, pipe: int) -> None:
        self._pipe: int | None = pipe

    def answer(self, **facts: object) -> None:
        """Tell it, unless it was told something before."""
        pipe, self._pipe = self._pipe, None
        if pipe is None:
            return
        try:
            os.write(pipe, orjson.dumps(facts))
        except OSError:
            pass  # nobody is there to hear it
        os.close(pipe)


if __name__ == "__main__":
    main()
