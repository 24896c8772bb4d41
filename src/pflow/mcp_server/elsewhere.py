"""Runs that other processes drive: what comes of them, and ending them for good."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from pflow.mcp_server.envelope import ToolReply, fail, output_lines, paused, succeed
from pflow.workspace import Workspace
from pflow.workspace.asking.question import Answered, waits_data
from pflow.workspace.serving import shorten_all

GOING_ON = ("running", "waiting")

_LOOK_SECONDS = 0.05


def end_run(open_workspace: Callable[[], Workspace], run_id: str, *, seconds: float) -> bool:
    """Cancel a run, and wait up to some seconds for the process that drives it; whether it is over."""
    status = open_workspace().cancel(run_id)
    until = time.monotonic() + seconds
    while status == "requested" and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        workspace = open_workspace()
        info = workspace.driving.info(run_id)
        if info.status == "waiting" and not info.alive:  # its process left before it saw the request
            status = workspace.cancel(run_id)
        elif info.status not in GOING_ON:
            return True
    return status != "requested"


def reply_of_run(workspace: Workspace, run: Mapping[str, Any]) -> ToolReply:
    """The answer for a run, as `Workspace.show_run` shows it, that has ended or waits."""
    run_id = run["run_id"]
    if run["status"] == "waiting":
        waits = tuple(workspace.inbox.waiting(run_id))
        data = {"status": "waiting", "run_id": run_id, **waits_data(waits, workspace.output_limit)}
        return paused(run_id, waits, {"success": True, "data": data})
    if run["status"] != "completed":
        error = run.get("error") or {"type": "run", "message": f"the run {run['status']}"}
        return fail({"details": {}, "suggestions": [], **error}, run_id=run_id)
    outputs = shorten_all(run.get("outputs") or {}, workspace.output_limit, f"{run_id} outputs")
    kept = {name: run[name] for name in ("run_id", "status", "duration_ms") if name in run}
    data = {"outputs": outputs, **kept, "steps": len(run["steps"])}
    return succeed(data, "\n".join([f"completed, run {run_id}", *output_lines(outputs)]))


def goes_on_elsewhere(answered: Answered) -> ToolReply:
    """The answer for a call that answered questions of a run that another process drives."""
    run_id = answered.run_id
    said = f"answered; run {run_id} goes on in another process, and trace_read(trace_file='{run_id}') tells how"
    return succeed({"run_id": run_id, "status": "running", "answered": list(answered.places)}, said)
