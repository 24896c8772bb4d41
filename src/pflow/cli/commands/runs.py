"""`pflow runs …` and `pflow trace`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
import orjson

from pflow.cli.argument import check_workflow, find_workflow, read_params
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.runs_again import explain_missing, fork, settle
from pflow.cli.completion import complete_file, complete_run, complete_step, complete_workflow
from pflow.cli.console import Console
from pflow.cli.run_report import detach_run, run_watched, show_outcome
from pflow.cli.text import ago, show_ms
from pflow.core.errors import DocumentError, InputError, UsageError
from pflow.core.json_type import objects_in
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.workspace import RunInfo, Workspace
    from pflow.workspace.asking.question import Waiting
    from pflow.workspace.serving import LiveRun

_SOURCES = {"cache": "from the cache", "reuse": "kept from before", "settled": "settled"}


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, resume, fork, settle and cancel runs.

    RUN is a run's id, the beginning of it, or `latest`.
    """


@runs.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@click.option("--waiting", is_flag=True, help="Only what runs wait for, with the command that answers it.")
@with_console
def list_runs(console: Console, limit: int, waiting: bool) -> None:
    """The newest runs first."""
    if waiting:
        _list_waiting(console, limit)
        return
    found = console.workspace().runs(limit)
    schedules = console.workspace().scheduled(info.run_id for info in found)
    if not found:
        console.remark("no run yet\n\nhint: pflow run WORKFLOW")
    rows = [
        (info.run_id, info.state, escape(info.workflow), ago(info.started_at), _took(info), _by(schedules, info))
        for info in found
    ]
    names = ("run_id", "workflow", "started_at", "ended_at", "alive")
    data = [
        {
            **{name: getattr(info, name) for name in names},
            "status": info.state,
            **({"schedule": schedules[info.run_id]} if info.run_id in schedules else {}),
        }
        for info in found
    ]
    console.reply({"runs": data}, "\n".join(columns(rows, indent="")))


def _list_waiting(console: Console, limit: int) -> None:
    """What runs wait for, since when, and until when. It drives nothing, but what is overdue is over."""
    from pflow.cli.asking.question_text import command_for, render_waits  # lazy: only for runs that wait

    workspace = console.workspace()
    lines: list[str] = []
    data: list[dict[str, object]] = []
    for info in (*workspace.runs(limit, state="waiting"), *workspace.runs(limit, state="running")):
        waits = workspace.waiting(info.run_id)
        if not waits and info.alive:
            continue
        alone = sum(one.kind == "question" for one in waits) == 1
        own = {"run_id": info.run_id, "workflow": info.workflow}
        data += [{**own, **one.as_data(), "command": command_for(one, alone=alone)} for one in waits]
        since = ago(min((one.asked_at for one in waits), default=info.started_at))
        lines += [f"{info.run_id}  {escape(info.workflow)}  since {since}"]
        # What it waited for is there, but nobody has taken it up.
        lines += [f"  {line}" for line in render_waits(waits) or [f"can go on: pflow runs resume {info.run_id}"]]
    if not lines:
        console.remark("no run is waiting")
    console.reply({"waiting": data}, "\n".join(lines))


@runs.command()
@click.argument("run", shell_complete=complete_run)
@with_console
def show(console: Console, run: str) -> None:
    """Show how RUN went: its steps, its outputs or its error, and what it waits for."""
    workspace = console.workspace()
    found = workspace.show_run(run)
    waits = workspace.waiting(str(found["run_id"])) if found["status"] in ("waiting", "running") else []
    console.reply(found, _render_run(found, waits))


@runs.command()
@click.argument("run", shell_complete=complete_run)
@click.argument("inputs", nargs=-1, metavar="[key=value]...")
@click.option(
    "--with",
    "edited",
    metavar="WORKFLOW",
    shell_complete=complete_workflow,
    help="Continue with an edited workflow: only what changed runs again.",
)
@click.option("--rerun-in-doubt", is_flag=True, help="Run steps again that may have taken effect already.")
@click.option(
    "--failed-items",
    is_flag=True,
    help="Run items again that batches went on without, and then the steps whose inputs they change.",
)
@click.option(
    "--item",
    "items",
    multiple=True,
    metavar="ITEM",
    help="Of the failed items only this one, such as 3 or fetch[3]; can be given several times.",
)
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@click.option("--detach", is_flag=True, help="Leave the run to others to drive, and print its id.")
@with_console
def resume(
    console: Console,
    run: str,
    inputs: tuple[str, ...],
    edited: str | None,
    rerun_in_doubt: bool,
    failed_items: bool,
    items: tuple[str, ...],
    no_cache: bool,
    detach: bool,
) -> int:
    """Take RUN up where it ended: completed steps are not run again."""
    params = read_params(inputs)
    again = items if failed_items or items else None
    found = find_workflow(console, edited) if edited is not None else None

    def begin(workspace: Workspace) -> LiveRun:
        return workspace.begin_resume(
            run,
            edited=found,
            params=params,
            text=True,
            rerun_in_doubt=rerun_in_doubt,
            failed_items=again,
            cache=not no_cache,
        )

    try:
        if detach:
            return detach_run(console, begin)
        outcome = run_watched(console, begin)
    except DocumentError:
        if found is not None and edited is not None:
            check_workflow(console, found, edited)
        raise
    except InputError as error:
        raise explain_missing(error, ["resume", run], inputs) from None
    return show_outcome(console, outcome)


runs.add_command(fork)
runs.add_command(settle)


@runs.command()
@click.argument("run", shell_complete=complete_run)
@with_console
def cancel(console: Console, run: str) -> None:
    """End RUN for good."""
    run_id = console.workspace().find_run(run)
    status = console.workspace().cancel(run_id)
    text = f"asked the process that runs {run_id} to stop" if status == "requested" else f"cancelled {run_id}"
    console.reply({"run_id": run_id, "status": status}, text)


@click.command(short_help="Show what a run did, step by step.")
@click.argument("run", default="latest", shell_complete=complete_run)
@click.option("--step", help="Only this step.", shell_complete=complete_step)
@click.option("--field", metavar="PATH", help="Only this value, such as outputs.report or outputs.items[0].")
@click.option("--offset", type=click.IntRange(0), default=0, help="Where in a long value to begin.")
@click.option("--limit", type=click.IntRange(1), help="How many characters of a long value.")
@click.option(
    "--html", metavar="FILE", shell_complete=complete_file, help="Write the run as one HTML file; `-` prints it."
)
@with_console
def trace(
    console: Console, run: str, step: str | None, field: str | None, offset: int, limit: int | None, html: str | None
) -> None:
    """Print everything that is recorded of RUN (`latest`, an id or its beginning) as JSON."""
    if html is not None:
        if step is not None or field is not None:
            raise UsageError("`--html` writes the whole run; leave out `--step` and `--field`")
        from pflow.cli.page.file import write_page  # lazy: only for pages

        write_page(console, run, html)
        return
    found = console.workspace().trace(run, step=step, field=field, offset=offset, limit=limit)
    console.reply(found, found)


def _by(schedules: Mapping[str, str], info: RunInfo) -> str:
    return f"by {escape(schedules[info.run_id])}" if info.run_id in schedules else ""


def _took(info: RunInfo) -> str:
    return show_ms((info.ended_at - info.started_at) * 1000) if info.ended_at else ""


def _render_run(found: Mapping[str, object], waits: Sequence[Waiting]) -> str:
    started = found.get("started_at")
    when = f", started {ago(started)}" if isinstance(started, float) else ""
    took = found.get("duration_ms")
    length = f", {show_ms(took)}" if isinstance(took, float | int) else ""
    lines = [
        f"{found.get('run_id')}  {found.get('status')}{length}{when}",
        f"workflow {escape(str(found.get('workflow') or ''))}",
        *_origin(found),
        "",
    ]
    steps = objects_in(found["steps"])
    lines += columns([_step_row(step) for step in steps])
    lines += _settled(found)
    lines += _kept_lines(found.get("state"))
    if any("waits" in step for step in steps):
        from pflow.cli.asking.question_text import render_waits  # lazy: only for runs that waited
        from pflow.cli.asking.wait_history import render_answers

        answers, questions = render_answers(steps), render_waits(waits)
        lines += (["", "answers", *answers] if answers else []) + (["", *questions] if questions else [])
    error = found.get("error")
    if isinstance(error, Mapping):
        lines += ["", f"error: {escape(str(error.get('message')))}"]
    if found.get("status") in ("failed", "stopped", "interrupted"):
        lines += ["", f"resume: pflow runs resume {found.get('run_id')}"]
    return "\n".join(lines)


def _origin(found: Mapping[str, object]) -> list[str]:
    """The run that another one begins with, and from which step on it is its own."""
    origin = found.get("forked_from")
    if not origin:
        return []
    if only := found.get("only"):
        return [f"only step {escape(str(only))}, with the values of {origin}"]
    return [f"forked from {origin} at {escape(str(found.get('forked_at')))}"]


def _settled(found: Mapping[str, object]) -> list[str]:
    """What was said of steps that were in doubt."""
    words = {"done": "it took effect", "rerun": "it is to run again"}
    told = [
        f"settled: {escape(str(one.get('step')))}, {words.get(str(one.get('outcome')), '')}"
        + (f", says {escape(str(one['by']))}" if one.get("by") else "")
        for one in objects_in(found.get("settled"))
    ]
    return ["", *told] if told else []


def _names(sets: Mapping[str, Mapping[str, object]]) -> list[str]:
    return [escape(name) for values in sets.values() for name in values]


def _kept_lines(state: object) -> list[str]:
    """What a run has left behind for the next one."""
    if not isinstance(state, Mapping):
        return []
    if state.get("trial"):
        return ["", "a trial: nothing was kept"]
    kept = state.get("kept")
    rows = [
        (escape(f"{scope}.{name}"), shorten(orjson.dumps(value).decode(), 80))
        for scope, values in (kept.items() if isinstance(kept, Mapping) else ())
        for name, value in values.items()
    ]
    return ["", "kept", *columns(rows)] if rows else []


def _step_row(step: Mapping[str, object]) -> tuple[str, str, str, str]:
    ms = step.get("ms")
    time = show_ms(ms) if isinstance(ms, float | int) else ""
    error = step.get("error")
    about = shorten(str(error.get("message")), 80) if isinstance(error, Mapping) else ""
    if step.get("status") == "not_yet":
        about = shorten(str(step.get("reason", "")), 80)
    if "waits" in step:
        from pflow.cli.asking.wait_history import about_open  # lazy: only for runs that waited

        about = about_open(step) or about
    attempt = step.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        about = f"attempt {attempt}" + (f"; {about}" if about else "")
    if step.get("source") in _SOURCES:
        about = _SOURCES[str(step["source"])]
    sets = step.get("state")
    if isinstance(sets, Mapping) and step.get("status") == "completed":
        about = "; ".join(part for part in (f"sets {', '.join(_names(sets))}", about) if part)
    done = step.get("items_completed")
    if isinstance(done, int) and done:
        items = f"{done} item{'s' * (done != 1)} done"
        about = f"{items}; {about}" if about else items
    if (lost := step.get("items_failed")) and step.get("status") == "completed":
        about = f"{lost} of {step.get('items', '?')} items failed" + (f"; {about}" if about else "")
    if section := step.get("section"):
        about = f"in {section}" + (f": {about}" if about else "")
    status = str(step.get("status", "")).replace("_", " ")
    return escape(str(step.get("step"))), status, time, about
