"""Changes from when on others may take up a run that waits."""

from __future__ import annotations

import orjson

from pflow.core.errors import ConflictError
from pflow.core.event import HANDED_OVER
from pflow.engine.ports import AT_ONCE, Journal, Record, Status

_ENDS: dict[str, Status] = {"RunCompleted": "completed", "RunCancelled": "cancelled", "RunFailed": "failed"}


def make_due(journal: Journal, run_id: str) -> None:
    """Let anyone take up a run at once, unless somebody has it already. Raises `NotFoundError`."""
    try:
        _wake(journal, run_id, AT_ONCE)
    except ConflictError:
        return


def reserve(journal: Journal, run_id: str, until: float) -> None:
    """Keep others from taking up a run until then. Raises `ConflictError` if one of them has it, or it has ended."""
    _wake(journal, run_id, until)


def _wake(journal: Journal, run_id: str, at: float) -> None:
    if journal.info(run_id).status not in ("waiting", "running"):
        raise ConflictError(f"run `{run_id}` does not wait")
    seq = journal.claim(run_id)
    ended = next(map(_end, journal.read(run_id, seq - 1)), None)
    if ended is not None:  # just before we had it
        journal.append(run_id, seq, (), ended)
        raise ConflictError(f"run `{run_id}` is {ended}")
    journal.append(run_id, seq, (), "waiting", wake_at=at, seen_mail=len(journal.mail(run_id)))


def _end(last: Record) -> Status | None:
    """How a run with this last event has ended, if it has."""
    if last.kind == "RunStopped" and orjson.loads(last.data)["reason"] not in ("waiting", HANDED_OVER):
        return "stopped"
    return _ENDS.get(last.kind)
