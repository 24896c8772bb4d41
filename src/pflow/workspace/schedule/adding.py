"""Makes a schedule of what a caller gives: everything is checked that would stop it from running unattended."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypedDict, Unpack

from pflow.core.advice import Advice
from pflow.core.clock import now
from pflow.core.duration import FORM as DURATION
from pflow.core.duration import read_seconds, show_duration
from pflow.core.errors import InputError, UsageError
from pflow.core.file.file_name import check_name
from pflow.core.file.home import absolute
from pflow.core.printable import shorten
from pflow.core.schedule.schedule import WINDOW_SECONDS, Schedule, read_catch_up, read_overlap
from pflow.core.schedule.zone import local_zone, read_zone
from pflow.core.setting.token_shape import has_certain_token
from pflow.engine.credential import leaves
from pflow.engine.plan import Plan
from pflow.execution.begin import bind
from pflow.execution.check import Checked
from pflow.execution.wiring import Wiring

FAILURE_INPUTS = ("run_id", "workflow", "error")
"""What a workflow that is run on a failure is given, as far as it declares it."""

_DAY = 86_400.0
_SHORTEST_WINDOW = 60.0
_LONGEST_WINDOW = 366 * _DAY


class Terms(TypedDict, total=False):
    """How a schedule runs; what is left out has its preset. Durations are such as `90s`, `15m`, `2h` or `3d`.

    `cwd` and `path` are where its runs happen and look for programs: by default as for the caller, now.
    """

    name: str
    zone: str
    overlap: str
    catch_up: str
    window: str
    jitter: str
    timeout: str
    on_failure: str
    cwd: str
    path: str


def make_schedule(
    wiring: Wiring,
    check: Callable[[str], Checked],
    workflow: str,
    when: str,
    inputs: Mapping[str, object],
    *,
    text: bool,
    **terms: Unpack[Terms],
) -> tuple[Schedule, list[str]]:
    """The schedule, and what is probably not as it should be. Raises `PflowError` for what cannot run."""
    checked = check(workflow)
    saved = _saved_name(checked)
    plan = checked.runnable()
    name = check_name(terms.get("name") or saved, what="schedule")
    at = now()
    schedule = Schedule(
        name=name,
        workflow=saved,
        when=" ".join(when.split()),
        zone=terms.get("zone") or local_zone(),
        added_at=at,
        since=at,
        inputs=_bound(wiring, plan, inputs, text=text),
        overlap=read_overlap(terms.get("overlap") or "skip"),
        catch_up=read_catch_up(terms.get("catch_up") or "one"),
        window=_seconds("window", terms.get("window"), _SHORTEST_WINDOW, _LONGEST_WINDOW) or WINDOW_SECONDS,
        jitter=_seconds("jitter", terms.get("jitter"), 0.0, _DAY) or 0.0,
        timeout=_seconds("timeout", terms.get("timeout"), 1.0, _LONGEST_WINDOW),
        on_failure=terms.get("on_failure") or "",
        cwd=str(absolute(terms.get("cwd") or ".")),
        path=terms.get("path") or os.environ.get("PATH", os.defpath),
    )
    read_zone(schedule.zone)
    _ = schedule.timing  # raises for what cannot be read
    if schedule.on_failure:
        schedule = schedule._replace(on_failure=_saved_name(check_failure_workflow(check, schedule.on_failure)))
    return schedule, find_warnings(schedule, plan.raw)


def check_failure_workflow(check: Callable[[str], Checked], workflow: str) -> Checked:
    """A workflow that can be run on a failure. Raises `InputError` if it needs inputs that a failure does not give."""
    checked = check(workflow)
    plan = checked.runnable()
    missing = [
        name
        for name, declared in plan.inputs.items()
        if declared.required and not (declared.has_default or declared.secret or name in FAILURE_INPUTS)
    ]
    if missing:
        raise InputError(
            f"`{workflow}` cannot be run on a failure: it needs {', '.join(f'`{name}`' for name in missing)}",
            details={"missing": missing},
            suggestions=[f"a failure gives {', '.join(FAILURE_INPUTS)}; give other inputs a default"],
        )
    return checked


def failure_inputs(plan: Plan, run_id: str, workflow: str, error: Mapping[str, object]) -> dict[str, object]:
    """What a failure gives a workflow that declares it: `error` as an object, or, as a string, its message."""
    given: dict[str, object] = {"run_id": run_id, "workflow": workflow, "error": dict(error)}
    if "error" in plan.inputs and plan.inputs["error"].type == "string":
        given["error"] = str(error.get("message", ""))
    return {name: given[name] for name in FAILURE_INPUTS if name in plan.inputs}


def _saved_name(checked: Checked) -> str:
    source = checked.source
    if source.library or source.project is not None:
        return source.library or source.shown
    what = f"`{shorten(source.draft)}` is a draft" if source.draft else f"`{shorten(source.shown)}` is not saved"
    raise UsageError(
        f"{what}, and schedules run saved workflows only", suggestions=[Advice("save it first with `{save_workflow}`")]
    )


def _bound(wiring: Wiring, plan: Plan, inputs: Mapping[str, object], *, text: bool) -> dict[str, object]:
    """The given inputs by their types. Raises `InputError` for those that are missing, `UsageError` for secrets."""
    for name in inputs:
        if name in plan.inputs and plan.inputs[name].secret:
            advice = Advice("store the secret with `{store_secret}`: each run looks it up there", name=name.upper())
            raise _secret(f"`{shorten(name)}` is secret", advice)
    bound = bind(wiring, plan, inputs, text=text)
    given = {name: bound[name] for name in plan.inputs if name in inputs}
    redactor = wiring.find_redactor()
    for name, value in given.items():
        for _, found in leaves(name, value):
            known = redactor.names_in(found)
            if known or has_certain_token(found):
                what = f"the value of `{known[0]}`" if known else "what looks like a credential"
                advice = Advice(
                    "declare it with `secret: true` in the workflow, and store its value with `{store_secret}`",
                    name=name.upper(),
                )
                raise _secret(f"`{shorten(name)}` holds {what}", advice)
    return given


def _secret(problem: str, advice: Advice) -> UsageError:
    return UsageError(f"{problem}, and the inputs of a schedule are stored in clear", suggestions=[advice])


def _seconds(name: str, text: str | None, least: float, most: float) -> float | None:
    if not text:
        return None
    seconds = read_seconds(text)
    if seconds is None:
        raise UsageError(f"`{shorten(text)}` is not a duration, in `{name}`", suggestions=[f"write {DURATION}"])
    if not least <= seconds <= most:
        raise UsageError(
            f"`{name}` is {show_duration(seconds)}; it can be from {show_duration(least)} to {show_duration(most)}"
        )
    return seconds


def find_warnings(schedule: Schedule, raw: Mapping[str, object]) -> list[str]:
    """What is probably a mistake in a schedule; `raw` is the document of its workflow, as a plan keeps it."""
    document = raw.get("document")
    if schedule.overlap == "allow" and isinstance(document, Mapping) and document.get("state"):
        return [
            f"`{schedule.workflow}` keeps state, and runs that overlap may both change it; "
            "`skip` or `queue` lets one run follow the other"
        ]
    return []
