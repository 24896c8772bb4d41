"""`pflow runs …` and `pflow trace`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow, read_params
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.completion import complete_run, complete_step, complete_workflow
from pflow.cli.console import Console
from pflow.cli.run_report import run_watched, show_outcome
from pflow.cli.text import ago, quote, show_ms
from pflow.core.errors import DocumentError, InputError
from pflow.core.json_type import objects_in
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.workspace import RunInfo


@click.group(cls=CommandGroup)
def runs() -> None:
    """List, show, resume and cancel runs.

    RUN is a run's id, the beginning of it, or `latest`.
    """


@runs.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@with_console
def list_runs(console: Console, limit: int) -> None:
    """The newest runs first."""
    found = console.workspace().runs(limit)
    if not found:
        console.remark("no run yet\n\nhint: pflow run WORKFLOW")
    rows = [(info.run_id, info.state, escape(info.workflow), ago(info.started_at), _took(info)) for info in found]
    names = ("run_id", "workflow", "started_at", "ended_at", "alive")
    data = [{**{name: getattr(info, name) for name in names}, "status": info.state} for info in found]
    console.reply({"runs": data}, "\n".join(columns(rows, indent="")))


@runs.command()
@click.argument("run", shell_complete=complete_run)
@with_console
def show(console: Console, run: str) -> None:
    """Show how RUN went: its steps, its outputs or its error."""
    found = console.workspace().show_run(run)
    console.reply(found, _render_run(found))


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
@click.option("--no-cache", is_flag=True, help="Run every step, also those whose result is known.")
@with_console
def resume(
    console: Console, run: str, inputs: tuple[str, ...], edited: str | None, rerun_in_doubt: bool, no_cache: bool
) -> int:
    """Take RUN up where it ended: completed steps are not run again."""
    params = read_params(inputs)
    found = find_workflow(console, edited) if edited is not None else None
    try:
        outcome = run_watched(
            console,
            lambda workspace: workspace.begin_resume(
                run, edited=found, params=params, text=True, rerun_in_doubt=rerun_in_doubt, cache=not no_cache
            ),
        )
    except DocumentError:
        if found is not None and edited is not None:
            check_workflow(console, found, edited)
        raise
    except InputError as error:
        raise _explain_missing(error, run, inputs) from None
    return show_outcome(console, outcome)


def _explain_missing(error: InputError, run: str, words: Sequence[str]) -> InputError:
    """The error with the command that would work once every secret is stored: a resume needs them again."""
    if not error.missing:
        return error
    names = [word.partition("=")[0] for word in words]  # what is given here is mostly secret
    command = ["pflow", "runs", "resume", quote(run), *(f"{name}=…" for name in names)]
    return InputError(error.message, details=error.details, suggestions=[*error.suggestions, " ".join(command)])


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
@with_console
def trace(console: Console, run: str, step: str | None, field: str | None, offset: int, limit: int | None) -> None:
    """Print everything that is recorded of RUN (`latest`, an id or its beginning) as JSON."""
    found = console.workspace().trace(run, step=step, field=field, offset=offset, limit=limit)
    console.reply(found, found)


def _took(info: RunInfo) -> str:
    return show_ms((info.ended_at - info.started_at) * 1000) if info.ended_at else ""


def _render_run(found: Mapping[str, object]) -> str:
    started = found.get("started_at")
    when = f", started {ago(started)}" if isinstance(started, float) else ""
    took = found.get("duration_ms")
    length = f", {show_ms(took)}" if isinstance(took, float | int) else ""
    lines = [
        f"{found.get('run_id')}  {found.get('status')}{length}{when}",
        f"workflow {escape(str(found.get('workflow') or ''))}",
        "",
    ]
    lines += columns([_step_row(step) for step in objects_in(found["steps"])])
    error = found.get("error")
    if isinstance(error, Mapping):
        lines += ["", f"error: {escape(str(error.get('message')))}"]
    if found.get("status") in ("failed", "stopped", "interrupted"):
        lines += ["", f"resume: pflow runs resume {found.get('run_id')}"]
    return "\n".join(lines)


def _step_row(step: Mapping[str, object]) -> tuple[str, str, str, str]:
    ms = step.get("ms")
    time = show_ms(ms) if isinstance(ms, float | int) else ""
    error = step.get("error")
    about = shorten(str(error.get("message")), 80) if isinstance(error, Mapping) else ""
    if step.get("status") == "not_yet":
        about = shorten(str(step.get("reason", "")), 80)
    attempt = step.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        about = f"attempt {attempt}" + (f"; {about}" if about else "")
    if step.get("source") in ("cache", "reuse"):
        about = "from the cache" if step["source"] == "cache" else "kept from before the edit"
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
