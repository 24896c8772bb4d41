"""Why a run exists that no caller has begun by itself."""

from __future__ import annotations

from pflow.core.frozen import Frozen


class Cause(Frozen):
    """A schedule of a place, or an item of a batch in another run, such as `RUN/deploy[3]`.

    A run with a `time_limit` is stopped when it was worked on for so many seconds.
    """

    schedule: str = ""
    parent: str = ""
    time_limit: float | None = None
