"""`pflow runs list|show|diff|follow` and `pflow trace`: looking at runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_file, complete_run, complete_step, complete_workflow
from pflow.cli.console import Console
from pflow.cli.looking.colour import paint_cell
from pflow.cli.place.option import place_option
from pflow.cli.text import ago
from pflow.core.duration import FORM, read_seconds
from pflow.core.errors import UsageError
from pflow.core.json_type import objects_in
from pflow.core.printable import columns, escape

if TYPE_CHECKING:
    from pflow.workspace import RunInfo

STATES = ("running", "waiting", "completed", "failed", "stopped", "cancelled", "interrupted", "damaged")


@click.command("list")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many.")
@click.option("--workflow", metavar="NAME", shell_complete=complete_workflow, help="Only runs of this workflow.")
@click.option("--status", type=click.Choice(STATES), help="Only runs that stand so.")
@click.option("--text", default="", help="Only runs with this in the workflow's name, the id or the error.")
@click.option("--since", metavar="AGE", help="Only runs that began within this time, such as 90s, 15m, 2h or 3d.")
@click.option("--waiting", is_flag=True, help="Only what runs wait for, with the command that answers it.")
@place_option()
@with_console
def list_runs(
    console: Console, limit: int, workflow: str | None, status: str | None, text: str, since: str | None, waiting: bool
) -> None:
    """The newest runs first."""
    if waiting:
        _list_waiting(console, limit)
        return
    workspace = console.workspace()
    found = workspace.runs(limit, text=text, state=status or "", workflow=workflow, since=_moment(since))
    schedules = workspace.scheduled(info.run_id for info in found)
    parents = workspace.parents(info.run_id for info in found)
    worked = workspace.worked(found)
    if not found:
        is_chosen = workflow or status or text or since
        console.remark("no run matches" if is_chosen else "no run yet\n\nhint: pflow run WORKFLOW")
    from pflow.cli.looking.run_text import took  # lazy: only to look at runs

    rows = [
        (
            info.run_id,
            info.state,
            escape(info.workflow),
            ago(info.started_at),
            took(worked.get(info.run_id)),
            _by(schedules, parents, info),
        )
        for info in found
    ]
    names = ("run_id", "workflow", "started_at", "ended_at", "alive")
    data = [
        {
            **{name: getattr(info, name) for name in names},
            "status": info.state,
            **({"duration_ms": round(worked[info.run_id] * 1000, 3)} if info.run_id in worked else {}),
            **({"schedule": schedules[info.run_id]} if info.run_id in schedules else {}),
            **({"parent": parents[info.run_id]} if info.run_id in parents else {}),
        }
        for info in found
    ]
    lines = [paint_cell(line, len(row[0]), row[1]) for line, row in zip(columns(rows, indent=""), rows, strict=True)]
    console.show({"runs": data}, "\n".join(lines))


def _moment(since: str | None) -> float | None:
    if since is None:
        return None
    seconds = read_seconds(since)
    if seconds is None:
        raise UsageError(f"`{since}` is not a span of time", suggestions=[f"write {FORM}"])
    return time.time() - seconds


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


@click.command()
@click.argument("run", shell_complete=complete_run)
@click.option("--values", is_flag=True, help="Also what each step was given and gave.")
@click.option(
    "--step",
    "steps",
    multiple=True,
    metavar="STEP",
    shell_complete=complete_step,
    help="Only this step, or this item, such as b[17], in full; can be given several times.",
)
@click.option("--as-test", metavar="NAME", help="Make it a test of its workflow: a cassette, and what it gave.")
@click.option(
    "--file", metavar="FILE", shell_complete=complete_file, help="With --as-test: the test file, `*.test.yaml`."
)
@place_option()
@with_console
def show(
    console: Console, run: str, values: bool, steps: tuple[str, ...], as_test: str | None, file: str | None
) -> None:
    """Show how RUN went: its steps, its outputs or its error, and what it waits for."""
    if file is not None and as_test is None:
        raise UsageError(
            "`--file` is for `--as-test NAME`", suggestions=["pflow runs show RUN --as-test NAME --file FILE"]
        )
    if as_test is not None:
        from pflow.cli.testing.recording import make_test  # lazy: few runs become tests

        make_test(console, run, as_test, file)
        return
    from pflow.cli.looking.run_text import render_run  # lazy: only to look at runs

    workspace = console.workspace()
    found = workspace.show_run(run)
    run_id = str(found["run_id"])
    if steps:
        _show_steps(console, run_id, steps)
        return
    waits = workspace.waiting(run_id) if found["status"] in ("waiting", "running") else []
    given = workspace.params(run_id, [str(one.get("step")) for one in objects_in(found["steps"])]) if values else None
    shown = {**found, "given": given} if given is not None else found
    console.show(shown, render_run(found, waits, given))


def _show_steps(console: Console, run_id: str, steps: Sequence[str]) -> None:
    """Steps and items of a run in full."""
    from pflow.cli.looking.run_text import render_step  # lazy: only to look at runs

    workspace = console.workspace()
    entries = {step: _object(workspace.trace(run_id, step=step)) for step in steps}
    given = workspace.params(run_id, steps)
    parts = [
        "\n".join(render_step(entry, given.get(step), workspace.items(run_id, entry)))
        for step, entry in entries.items()
    ]
    data = [{**entry, "given": given.get(step)} for step, entry in entries.items()]
    console.show({"run_id": run_id, "steps": data}, "\n\n".join(parts))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


@click.command()
@click.argument("a", metavar="A", shell_complete=complete_run)
@click.argument("b", metavar="B", shell_complete=complete_run)
@place_option()
@with_console
def diff(console: Console, a: str, b: str) -> int:
    """Show how run B differs from run A: document, inputs, steps and outputs.

    The exit code is 0 if they are equal, 1 if they differ, and 2 if they cannot be compared. Times make no difference.
    """
    from pflow.cli.looking.diff_text import render_comparison  # lazy: only to compare runs

    compared = console.workspace().compare(a, b)
    console.show(compared.to_json(), render_comparison(compared))
    return 0 if compared.equal else 1


@click.command()
@click.argument("run", default="latest", shell_complete=complete_run)
@place_option()
@with_console
def follow(console: Console, run: str) -> int:
    """Show what RUN does while it does it, and what its long steps print, until it ends.

    The exit code is that of the run. Ctrl-C ends the following, not the run. With --json, one object a line.
    """
    from pflow.cli.looking.follow import follow_run  # lazy: only to look at runs

    return follow_run(console, console.workspace().find_run(run))


@click.command(short_help="Show what a run did, step by step.")
@click.argument("run", default="latest", shell_complete=complete_run)
@click.option("--step", help="Only this step, or this item of a batch, such as b[17].", shell_complete=complete_step)
@click.option("--field", metavar="PATH", help="Only this value, such as outputs.report or outputs.items[0].")
@click.option("--offset", type=click.IntRange(0), default=0, help="Where in a long value to begin.")
@click.option("--limit", type=click.IntRange(1), help="How many characters of a long value.")
@click.option("--text", is_flag=True, help="Print it as an indented tree instead of JSON.")
@click.option(
    "--html", metavar="FILE", shell_complete=complete_file, help="Write the run as one HTML file; `-` prints it."
)
@place_option()
@with_console
def trace(
    console: Console,
    run: str,
    step: str | None,
    field: str | None,
    offset: int,
    limit: int | None,
    text: bool,
    html: str | None,
) -> None:
    """Print everything that is recorded of RUN as JSON.

    RUN is `latest`, an id or its beginning, or the name of a workflow, which means its newest run.
    """
    if html is not None:
        _write_page(console, run, html, whole=step is None and field is None)
        return
    found = console.workspace().trace(run, step=step, field=field, offset=offset, limit=limit)
    if text and not console.json:
        from pflow.cli.looking.value_tree import render_tree  # lazy: only to look at runs

        console.show(found, "\n".join(render_tree(found)))
        return
    console.reply(found, found)


def _write_page(console: Console, run: str, file: str, *, whole: bool) -> None:
    if not whole:
        raise UsageError("`--html` writes the whole run; leave out `--step` and `--field`")
    from pflow.cli.page.file import write_page  # lazy: only for pages

    write_page(console, run, file)


def _by(schedules: Mapping[str, str], parents: Mapping[str, str], info: RunInfo) -> str:
    if info.run_id in parents:
        return f"for {escape(parents[info.run_id])}"
    return f"by {escape(schedules[info.run_id])}" if info.run_id in schedules else ""


LOOKING = (list_runs, show, diff, follow)
