"""Deletes what a home has kept long enough: runs that have ended, their files, and drafts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pflow.core.errors import StorageError
from pflow.core.file.atomic import write_atomic
from pflow.core.file.home import Home
from pflow.core.file.home_clock import DAY, sure_now
from pflow.engine.ports import Journal, RunInfo, RunQuery

_DATED = r"[0-9]{8}-[0-9]{6}-[0-9a-f]+"
_AT_ONCE = 1000
"""Runs to delete, at most; the others are deleted on another day."""


def is_due(home: Home) -> bool:
    """Whether it was not done within a day, whichever way the clock went since."""
    try:
        return abs(time.time() - (home.root / ".cleaned").stat().st_mtime) >= DAY
    except OSError:
        return True


def clean_home(home: Home, journal: Journal, *, runs_days: int, drafts_days: int, keep: str = "") -> list[str]:
    """Delete runs that ended, and drafts that changed, longer ago than that; the runs that are gone.

    The run `keep` stays, and so do runs that wait. Raises `StorageError`.
    """
    write_atomic(home.root / ".cleaned", b"")  # first, so that what cannot be deleted is not tried after every run
    now = sure_now(home)
    if now is None:
        return []
    if home.drafts.is_dir():
        from pflow.core.library.workflow_manager import WorkflowManager  # lazy: once a day at most

        WorkflowManager.for_drafts(home).clean(drafts_days * DAY, now=now)
    # A run's id begins with the moment it began. Ids that a program chose say nothing, so those runs stay.
    oldest = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now - runs_days * DAY))
    runs = journal.runs(RunQuery(limit=None))
    if home.live.is_dir():
        from pflow.adapters.live_output import forget_live  # lazy: once a day at most

        going_on = {run.run_id for run in runs if run.alive}
        forget_live(home.live, going_on.__contains__)
    ended = [run.run_id for run in runs if _is_over(run, now - runs_days * DAY, keep)]
    gone = [run_id for run_id in ended if _is_older(run_id, oldest)][-_AT_ONCE:]
    if gone:
        journal.delete(gone)
        kept = {run.run_id for run in runs}.difference(gone)
        _delete_files(home, lambda run_id: run_id not in kept and _is_older(run_id, oldest))
    return gone


def _is_over(run: RunInfo, before: float, keep: str) -> bool:
    """Whether a run ended before that moment; one whose process was killed has no end of its own."""
    if run.alive or run.status == "waiting" or run.run_id == keep:
        return False
    return run.ended_at is None or run.ended_at < before


def _is_older(run_id: str, oldest: str) -> bool:
    return run_id < oldest and re.fullmatch(_DATED, run_id) is not None


def _delete_files(home: Home, is_gone: Callable[[str], bool]) -> None:
    # lazy: once a day at most
    import shutil

    from pflow.execution.again.file import free_folders

    for folder in free_folders(home, is_gone):
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"the files of run `{folder.name}` cannot be deleted: {error.strerror}") from error
