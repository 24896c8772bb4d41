"""Whether a run that has ended can be taken up again."""

from __future__ import annotations

from pflow.core.advice import Advice
from pflow.core.errors import EndedError
from pflow.engine.history import History


def check_open(history: History, run_id: str, edited: bool) -> None:
    """Refuse to resume a run that has ended for good."""
    if history.cancelled:
        raise EndedError(f"run `{run_id}` was cancelled, for good", suggestions=["start the workflow again"])
    if history.finished and not edited:
        raise EndedError(
            f"run `{run_id}` is complete; there is nothing to resume",
            suggestions=[Advice("{resume_edited}   to continue with an edited document", run=run_id)],
        )
