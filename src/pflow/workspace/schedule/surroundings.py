"""The directory and the search path of a schedule, as those of this process for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from pflow.core.errors import StorageError
from pflow.core.schedule.schedule import Schedule


@contextmanager
def within(schedule: Schedule) -> Iterator[None]:
    """Work where the runs of a schedule do. Raises `StorageError` if its directory is gone."""
    before, path = os.open(".", os.O_RDONLY), os.environ.get("PATH")
    try:
        try:
            os.chdir(schedule.cwd)
        except OSError as error:
            raise StorageError(
                f"the directory `{schedule.cwd}` of schedule `{schedule.name}` cannot be used: {error.strerror}",
                suggestions=["make it again, or remove the schedule and add it from another directory"],
            ) from error
        os.environ["PATH"] = schedule.path
        yield
    finally:
        if path is None:
            os.environ.pop("PATH", None)
        else:
            os.environ["PATH"] = path
        os.fchdir(before)
        os.close(before)
