"""Repairs for programs that have agreed to them beforehand: propose, go on, at most three times. Shows nothing."""

from __future__ import annotations

from pflow.core.errors import PflowError
from pflow.engine.ports import Observer
from pflow.execution.begin import begin_resume
from pflow.execution.outcome import Outcome
from pflow.execution.wiring import Wiring
from pflow.workspace.planning.planned import Repair
from pflow.workspace.planning.repairer import MOST_REPAIRS, Repairer


def repair_outcome(wiring: Wiring, outcome: Outcome, observer: Observer | None) -> Outcome:
    """The outcome of a failed run after a model has mended its document, with a notice for each time that it did.

    Commands and code that a model wrote are not run: nobody has looked at them.
    """
    repairer = Repairer(wiring)
    notices: list[str] = []
    for _ in range(MOST_REPAIRS):
        if outcome.status != "failed":
            break
        try:
            repair = repairer.propose(outcome.run_id, model="", report=lambda message: None)
        except PflowError as error:
            notices.append(f"not repaired: {error.message}")
            break
        if reason := _reason_not_to(repair):
            notices.append(f"not repaired: {reason}")
            break
        notices.append(f"a model mended step `{repair.step}`: {repair.why}")
        outcome = begin_resume(wiring, outcome.run_id, {}, edited=repair.text, observer=observer).wait()
    return outcome._replace(notices=(*notices, *outcome.notices))


def _reason_not_to(repair: Repair) -> str:
    """Why a run does not go on with a repair; empty if it does."""
    if repair.issues:
        return f"the model wrote no valid workflow: {repair.issues[0].message}"
    if not repair.has_changes:
        return f"the model changed nothing: {repair.why}"
    if repair.unseen:
        return f"the model wrote commands or code, which a person looks at first: draft `{repair.draft}`"
    return ""
