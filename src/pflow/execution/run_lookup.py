"""The run that a reference names: `latest`, an id, or the beginning of one."""

from __future__ import annotations

from pflow.core.advice import Advice
from pflow.core.errors import NotFoundError, UsageError
from pflow.engine.ports import Journal, RunQuery


def find_run(journal: Journal, reference: str) -> str:
    """The run's id; raises `NotFoundError`, and `UsageError` where several runs are meant."""
    query = RunQuery(limit=1) if reference == "latest" else RunQuery(prefix=reference, limit=None)
    found = [info.run_id for info in journal.runs(query)] if reference else []
    if reference in found:
        return reference
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"`{reference}` is the beginning of {len(found)} runs", suggestions=found[:5])
    if reference == "latest":
        raise NotFoundError("there is no run yet", suggestions=[Advice("{run_workflow}")])
    raise NotFoundError(f"there is no run `{reference}`", suggestions=[Advice("`{list_runs}` shows what there is")])
