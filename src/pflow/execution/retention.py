"""Deletes what a home has kept long enough: runs that have ended, their files, and drafts."""

from __future__ import annotations

import re
import time

from pflow.core.errors import StorageError
from pflow.core.file.atomic import write_atomic
from pflow.core.file.home import Home
from pflow.core.file.home_clock import DAY, sure_now
from pflow.engine.ports import Journal, RunQuery

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
    """Delete runs that began, and drafts that changed, longer ago than that; the runs that are gone.

    The run `keep` stays. Raises `StorageError`.
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
    ended = [run.run_id for run in journal.runs(RunQuery(limit=None)) if not run.alive and run.run_id != keep]
    gone = [run_id for run_id in ended if run_id < oldest and re.fullmatch(_DATED, run_id)][-_AT_ONCE:]
    if gone:
        journal.delete(gone)
        _delete_files(home, gone)
    return gone


def _delete_files(home: Home, run_ids: list[str]) -> None:
    import shutil  # lazy: once a day at most

    for run_id in run_ids:
        try:
            shutil.rmtree(home.runs / run_id)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"the files of run `{run_id}` cannot be deleted: {error.strerror}") from error
