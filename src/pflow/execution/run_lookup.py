"""The run that a reference names: an id or its beginning, the newest run of all or of a workflow, or one before it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from pflow.core.advice import Advice
from pflow.core.duration import show_span
from pflow.core.errors import NotFoundError, UsageError
from pflow.core.printable import shorten
from pflow.core.suggest import did_you_mean
from pflow.engine.ports import Journal, RunInfo, RunQuery

LATEST = "latest"
"""The newest run, whichever workflow it is of."""

_BACK = re.compile(r"(.+)~([0-9]{1,6})", re.DOTALL)
_FEW = 5
"""Candidates that an error names."""

_RECENT = 200
"""Runs whose workflows a misspelt name is compared with."""


def find_run(journal: Journal, reference: str) -> str:
    """The id of the run that is meant by its id, the beginning of that, `latest`, or the name of its workflow.

    `latest~2` and `changelog~2` are the runs two before the newest one. Raises `NotFoundError`, and `UsageError` where
    several runs are meant.
    """
    if reference and reference != LATEST:
        begun = journal.runs(RunQuery(prefix=reference, limit=None))
        if any(info.run_id == reference for info in begun):
            return reference
    else:
        begun = ()
    found = _BACK.fullmatch(reference)
    name, back = (found[1], int(found[2])) if found else (reference, 0)
    query = RunQuery(limit=back + 1) if name == LATEST else RunQuery(workflow=name, limit=back + 1)
    named = journal.runs(query) if name else ()
    if len(named) > back:
        return named[back].run_id
    if named:
        raise _too_far(name, back, len(named))
    if len(begun) == 1:
        return begun[0].run_id
    if begun:
        raise _ambiguous(reference, begun)
    raise _missing(journal, reference, name)


def _too_far(name: str, back: int, count: int) -> NotFoundError:
    runs = "there is 1 run" if count == 1 else f"there are {count:,} runs"
    of = "" if name == LATEST else f" of `{shorten(name)}`"
    oldest = f"`{name}~{count - 1}`" if count > 1 else f"`{name}`"
    return NotFoundError(
        f"{runs}{of}, and `{shorten(name)}~{back}` would be one before them", suggestions=[f"the oldest is {oldest}"]
    )


def _ambiguous(reference: str, found: Sequence[RunInfo]) -> UsageError:
    told = [_candidate(info) for info in found[:_FEW]]
    more = [f"… and {len(found) - _FEW:,} more"] if len(found) > _FEW else []
    return UsageError(
        f"`{reference}` is the beginning of {len(found)} runs",
        details={"candidates": [info.run_id for info in found[:_FEW]]},
        suggestions=[*told, *more],
    )


def _candidate(info: RunInfo) -> str:
    ago = show_span(time.time() - info.started_at)
    return f"{info.run_id}  {shorten(info.workflow)}, {info.state}, {ago} ago"


def _missing(journal: Journal, reference: str, name: str) -> NotFoundError:
    if name == LATEST:
        return NotFoundError("there is no run yet", suggestions=[Advice("{run_workflow}")])
    known = dict.fromkeys(info.workflow for info in journal.runs(RunQuery(limit=_RECENT)))
    hint = did_you_mean(name, list(known)) if name else ""
    return NotFoundError(
        f"there is no run `{shorten(reference)}`",
        suggestions=[*filter(None, [hint]), Advice("`{list_runs}` shows what there is")],
    )
