"""Finds out whether a schedule can run unattended: everything short of running it, and whether anything fires."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pflow.core.advice import Advice
from pflow.core.duration import show_span
from pflow.core.errors import PflowError
from pflow.core.file.home import Home
from pflow.core.health import Check
from pflow.core.schedule.schedule import Schedule
from pflow.engine.plan import Plan
from pflow.workspace.schedule.adding import check_failure_workflow
from pflow.workspace.schedule.report import ScheduleCheck, ScheduleView
from pflow.workspace.schedule.timer import find_timers

if TYPE_CHECKING:
    from pflow.workspace.workspace import Workspace

There = Callable[[Schedule], "AbstractContextManager[Workspace]"]
"""A workspace where the runs of a schedule happen."""

_FRESH_SECONDS = 180.0
"""A last look this long ago means that something looks every minute."""


def check_schedule(view: ScheduleView, there: There) -> ScheduleCheck:
    """Whether one schedule can run, looked at where its runs happen. Its servers are started and ended again."""
    checks = tuple(_checks(view, there))
    ok = not any(check.ok is False for check in checks)
    return ScheduleCheck(schedule=view.schedule.name, ok=ok, checks=checks)


def check_firing(home: Home, last_tick: float | None, now: float) -> ScheduleCheck:
    """Whether anything looks for what is due."""
    kinds = [timer.kind for timer in find_timers(home)]
    ago = None if last_tick is None else max(0, int(now - last_tick))
    is_fresh = ago is not None and ago <= _FRESH_SECONDS
    found = "no timer is installed" if not kinds else f"a timer of {' and '.join(kinds)} is installed"
    looked = "nothing has looked yet" if ago is None else f"last looked {show_span(ago)} ago"
    hints = [] if is_fresh else [Advice("`{install_timer}` installs a timer; in a container, let `{daemon}` run")]
    check = Check(check="firing", ok=is_fresh, found=f"{looked}; {found}", hints=tuple(hints))
    return ScheduleCheck(schedule="", ok=is_fresh, checks=(check,))


def _checks(view: ScheduleView, there: There) -> Iterator[Check]:
    schedule = view.schedule
    if schedule.paused_at is not None:
        hint = Advice("`{resume_schedule}` lets it go on", name=schedule.name)
        yield _check("paused", None, schedule.reason or "by a person", [hint])
    times = view.problem or f"{schedule.when} in {schedule.zone}; next {view.moment(view.next_at) or 'never'}"
    yield _check("times", not view.problem, times)
    if not Path(schedule.cwd).is_dir():
        yield _check("directory", False, f"`{schedule.cwd}` does not exist", ["create it, or add the schedule again"])
        return
    yield _check("directory", True, schedule.cwd)
    gone = [folder for folder in schedule.path.split(":") if folder and not Path(folder).is_dir()]
    if gone:
        moved = "programs are looked for where `PATH` said when the schedule was added; add it again if they moved"
        yield _check("path", None, f"no longer there: {', '.join(gone)}", [moved])
    try:
        with there(schedule) as workspace:
            yield from _run_checks(workspace, schedule)
    except PflowError as error:
        yield _failure("directory", error)


def _run_checks(workspace: Workspace, schedule: Schedule) -> Iterator[Check]:
    try:
        checked = workspace.check(schedule.workflow)
        plan = checked.runnable()
    except PflowError as error:
        yield _failure("workflow", error)
        return
    yield _check("workflow", True, f"`{schedule.workflow}` is valid")
    try:
        workspace.begin(checked, schedule.inputs)  # which begins nothing before it is awaited
        secrets = sum(declared.secret for declared in plan.inputs.values())
        yield _check("inputs", True, "all there" + (f", {secrets} from the settings" if secrets else ""))
    except PflowError as error:
        yield _failure("inputs", error)
    servers = sorted(_servers(plan))
    for report in workspace.servers.check(servers) if servers else ():
        last = report.checks[-1]
        wrong = next((check for check in report.checks if check.ok is False), None)
        shown = wrong or last
        yield _check(f"server {report.server}", report.ok, shown.found, shown.hints)
    if schedule.on_failure:
        try:
            check_failure_workflow(workspace.check, schedule.on_failure)
            yield _check("on failure", True, f"`{schedule.on_failure}` is valid")
        except PflowError as error:
            yield _failure("on failure", error)


def _servers(plan: Plan) -> set[str]:
    """The MCP servers that a run may need."""
    own = {node.server for node in plan.nodes if node.server}
    return own.union(*(_servers(node.child) for node in plan.nodes if node.child is not None))


def _check(check: str, ok: bool | None, found: str, hints: Sequence[str] = ()) -> Check:
    return Check(check=check, ok=ok, found=found, hints=tuple(hints))


def _failure(check: str, error: PflowError) -> Check:
    return Check(check=check, ok=False, found=error.message, hints=tuple(error.suggestions), details=error.details)
