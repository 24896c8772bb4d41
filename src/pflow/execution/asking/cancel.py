"""Ends runs for good. One that waits is taken up for that, if its document says what is to be done in any case."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pflow.core.errors import ConflictError, NotFoundError, PflowError, UsageError
from pflow.engine.plan import Plan
from pflow.engine.ports import RunInfo
from pflow.execution.begin import bind_again, check_again, read_history
from pflow.execution.live_run import LiveRun
from pflow.execution.place.transaction import at_once
from pflow.execution.wiring import Wiring


def cancel_run(wiring: Wiring, run_id: str, say: Callable[[str], None]) -> str:
    """Cancel a run; `cancelled`, or `requested` if its process was asked to do so.

    Of a run that waits, the steps of `finally` run first; if they cannot, or nobody runs the run, `say` is told.
    """
    done = ""
    while not done:
        info = wiring.journal.info(run_id)
        if info.status in ("completed", "cancelled"):
            raise UsageError(f"run `{run_id}` is {info.status} already")
        done = "" if info.alive else _end_unowned(wiring, info, say)
        if not done:
            done = _request(wiring, run_id)
    return done


def _end_unowned(wiring: Wiring, info: RunInfo, say: Callable[[str], None]) -> str:
    """Cancel a run that no process has; what became of that, or "" if somebody has just taken it up."""
    run_id = info.run_id
    try:
        waits_far = info.status == "waiting" and wiring.has_workers
        if waits_far and _has_last_steps(wiring, run_id) and wiring.dispatch.end(run_id):
            return "requested"
        if info.status != "waiting" or not _end_waiting(wiring, run_id, say):
            with at_once(wiring):
                wiring.executor(None).cancel_orphan(run_id)
    except ConflictError:
        return ""
    if wiring.place is not None:
        wiring.dispatch.cancel(run_id)  # so that whoever waits with it sees that it has ended
        _cancel_items(wiring, run_id, say)
    if info.status in ("running", "stopped") and _lacks_finally(wiring, run_id):
        say("the steps of `finally` did not run: no process was running the run")
    return "cancelled"


def _request(wiring: Wiring, run_id: str) -> str:
    """Ask the process that has a run to cancel it; what became of that, or "" if that process has just left it."""
    wiring.journal.request_cancel(run_id)
    wiring.dispatch.cancel(run_id)
    info = wiring.journal.info(run_id)
    if info.status == "cancelled":
        return "cancelled"
    return "requested" if info.alive or info.status == "completed" or wiring.has_workers else ""


def _cancel_items(wiring: Wiring, run_id: str, say: Callable[[str], None]) -> None:
    """Cancel the runs of items that a run was waiting for."""
    for asked in read_history(wiring, run_id, {}).asked.values():
        if "run" in asked.form:
            with suppress(NotFoundError, UsageError):  # it has ended meanwhile
                cancel_run(wiring, str(asked.form["run"]), say)


def _end_waiting(wiring: Wiring, run_id: str, say: Callable[[str], None]) -> bool:
    """Cancel a run that waits and has something to do at its end; whether it had."""
    try:
        run = _last_steps(wiring, run_id)
        for notice in run.wait_aside().notices if run is not None else ():
            say(notice)
        return run is not None
    except ConflictError:
        raise
    except PflowError as error:
        say(f"the steps of `finally` did not run: {error.message}")
        return False


def _last_steps(wiring: Wiring, run_id: str) -> LiveRun | None:
    """The end of a run that only waits; None if its document does not say what is to be done then."""
    history = read_history(wiring, run_id, {})
    if not history.only_waits:
        return None
    plan = check_again(wiring, run_id, history).ready()
    inputs = bind_again(wiring, plan, history, {}, text=False)
    if not _has_finally(plan):
        return None
    return LiveRun(wiring, plan, run_id, lambda executor: executor.end_waiting(run_id, plan, inputs))


def _has_last_steps(wiring: Wiring, run_id: str) -> bool:
    """Whether a run that waits has something to do at its end."""
    try:
        return _last_steps(wiring, run_id) is not None
    except PflowError:
        return False


def _lacks_finally(wiring: Wiring, run_id: str) -> bool:
    """Whether a run was to do something at its end, and has not begun that."""
    try:
        history = read_history(wiring, run_id, {})
        return not history.ending and _has_finally(check_again(wiring, run_id, history).ready())
    except PflowError:
        return False  # nobody can tell any more


def _has_finally(plan: Plan) -> bool:
    return "finally" in plan.sections or any(node.child is not None and _has_finally(node.child) for node in plan.nodes)
