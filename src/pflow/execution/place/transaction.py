"""Changes of runs at a place by those who do not drive them: all at once, or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from pflow.execution.wiring import Wiring


def at_once(wiring: Wiring) -> AbstractContextManager[None]:
    """Have a run for one transaction only, if it is kept at a place.

    A process that lives on would keep a run that it claimed just before the database went away. And a pooler lends a
    session for no longer than a transaction.
    """
    return wiring.journal.together() if wiring.place is not None else nullcontext()
