"""`pflow schedule …`: workflows that run at times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.cli.argument import read_params
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.mcp_sync import render_checks
from pflow.cli.completion import complete_input, complete_schedule, complete_workflow
from pflow.cli.console import Console
from pflow.cli.place.option import home_only, place_option
from pflow.cli.run_report import explain_inputs, run_watched, show_outcome
from pflow.cli.schedule_text import render_item, render_schedules, show_local, show_next
from pflow.cli.schedule_timer import install, uninstall
from pflow.core.clock import now
from pflow.core.duration import show_span
from pflow.core.errors import InputError, UsageError
from pflow.core.printable import columns, escape

if TYPE_CHECKING:
    from pflow.workspace.schedule.adding import Terms
    from pflow.workspace.schedule.report import ScheduleBook

_FRESH_SECONDS = 180
"""When somebody looked this long ago, somebody looks every minute."""


@click.group(cls=CommandGroup)
def schedule() -> None:
    """Have saved workflows run at times, also while nobody is there.

    Something has to look every minute for what is due: `pflow schedule install`, or `pflow daemon` in a container.
    """


@schedule.command()
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("when")
@click.argument("inputs", nargs=-1, metavar="[key=value]...", shell_complete=complete_input)
@click.option("--name", help="What to call it; by default, as the workflow.")
@click.option("--tz", "zone", metavar="ZONE", help="Time zone, such as Europe/Berlin; by default, this machine's.")
@click.option("--overlap", metavar="POLICY", help="While a run goes on: skip (the default), queue, cancel or allow.")
@click.option("--catch-up", metavar="POLICY", help="After times were missed: none, one (the default) or all.")
@click.option("--window", metavar="DURATION", help="How far back missed times are made up for; by default 24h.")
@click.option("--jitter", metavar="DURATION", help="Start each run up to this much later.")
@click.option("--timeout", metavar="DURATION", help="Stop a run that takes longer.")
@click.option("--on-failure", metavar="WORKFLOW", shell_complete=complete_workflow, help="Run this after a failure.")
@place_option()
@with_console
def add(
    console: Console,
    workflow: str,
    when: str,
    inputs: tuple[str, ...],
    name: str | None,
    zone: str | None,
    overlap: str | None,
    catch_up: str | None,
    window: str | None,
    jitter: str | None,
    timeout: str | None,
    on_failure: str | None,
) -> None:
    """Have the saved WORKFLOW run at the times WHEN.

    WHEN is "0 7 * * 1-5" (minute, hour, day, month, day of the week) or "every 15m". Runs have the directory and the
    PATH of now. Secret inputs come from the settings.
    """
    when, inputs = _join_words(when, inputs)
    params = read_params(inputs)
    terms: Terms = {
        "name": name or "",
        "zone": zone or "",
        "overlap": overlap or "",
        "catch_up": catch_up or "",
        "window": window or "",
        "jitter": jitter or "",
        "timeout": timeout or "",
        "on_failure": on_failure or "",
    }
    try:
        added = _kept(console).add(workflow, when, params, text=True, **terms)
    except InputError as error:
        plan = console.workspace().check(workflow).runnable()
        raise explain_inputs(error, plan, ["schedule", "add", workflow, when], params) from None
    view = added.view
    for warning in added.warnings:
        console.say(f"warning: {escape(warning)}")
    text = f"{escape(view.schedule.when)} in {view.schedule.zone}, next {show_next(view)}"
    console.reply({**view.as_dict(), "warnings": list(added.warnings)}, f"added `{escape(view.schedule.name)}`: {text}")
    if console.on:
        return
    looked = console.workspace().schedules.last_tick()
    if looked is None or now() - looked > _FRESH_SECONDS:
        console.remark("note: nothing looks for what is due yet; `pflow schedule install` sees to that")


@schedule.command("list")
@place_option()
@with_console
def list_schedules(console: Console) -> None:
    """Every schedule: when it starts next, and what came of the last time."""
    found = _kept(console).list()
    if not found:
        console.remark(f'no schedule yet\n\nhint: pflow schedule add WORKFLOW "0 7 * * 1-5"{_at(console)}')
    console.reply({"schedules": [view.as_dict() for view in found]}, render_schedules(found))


@schedule.command()
@click.argument("name", shell_complete=complete_schedule)
@click.option("--claimed", hidden=True, default="", help="The run that a tick has claimed.")
@place_option()
@with_console
def run(console: Console, name: str, claimed: str) -> int:
    """Run the schedule NAME now, in its directory and with its inputs."""
    if console.on:
        return show_outcome(console, run_watched(console, lambda workspace: workspace.place_schedules.begin_now(name)))
    # lazy: only for runs
    from pflow.workspace import Workspace
    from pflow.workspace.schedule.surroundings import within

    with Workspace.open() as anywhere:
        found = anywhere.schedules.get(name).schedule
    with within(found):
        schedules = console.workspace().schedules  # which sees the project in that directory, if there is one
        console.keep_stdout()
        if console.progress is None:
            fired = schedules.run(name, claimed=claimed)
        else:
            with console.progress:
                fired = schedules.run(name, claimed=claimed)
        if fired.problem:
            console.say(f"warning: {escape(fired.problem)}")
        return 0 if fired.outcome is None else show_outcome(console, fired.outcome)


@schedule.command()
@click.argument("name", shell_complete=complete_schedule)
@place_option()
@with_console
def pause(console: Console, name: str) -> None:
    """Let the schedule NAME start nothing until it is resumed."""
    view = _kept(console).pause(name)
    text = f"paused `{escape(name)}`; `pflow schedule resume {escape(name)}{_at(console)}` lets it go on"
    console.reply(view.as_dict(), text)


@schedule.command()
@click.argument("name", shell_complete=complete_schedule)
@place_option()
@with_console
def resume(console: Console, name: str) -> None:
    """Let the schedule NAME go on with its next time; what was due meanwhile is not made up for."""
    view = _kept(console).resume(name)
    console.reply(view.as_dict(), f"resumed `{escape(name)}`, next {show_next(view)}")


@schedule.command()
@click.argument("name", shell_complete=complete_schedule)
@place_option()
@with_console
def remove(console: Console, name: str) -> None:
    """Forget the schedule NAME; its runs stay."""
    _kept(console).remove(name)
    console.reply({"name": name, "removed": True}, f"removed `{escape(name)}`")


@schedule.command("next")
@click.argument("name", shell_complete=complete_schedule)
@click.argument("count", default=5, type=click.IntRange(1, 1000), metavar="[N]")
@place_option()
@with_console
def show_times(console: Console, name: str, count: int) -> None:
    """When the schedule NAME is due the next N times (5)."""
    schedules = _kept(console)
    view = schedules.get(name)
    found = schedules.next(name, count)
    rows = [(show_local(view.schedule, due), f"in {show_span(due - now())}") for due in found]
    answer = {"name": name, "zone": view.schedule.zone, "next": [view.moment(due) for due in found]}
    console.reply(answer, "\n".join(columns(rows, indent="")))


@schedule.command()
@click.argument("name", default="", shell_complete=complete_schedule)
@home_only("workers tell at their start and at each run what they lack")
@with_console
def doctor(console: Console, name: str) -> int:
    """Look at everything that runs of the schedule NAME need, or of all, short of running them."""
    reports = console.workspace().schedules.check(name)
    shown = [render_checks(report.schedule or "schedules", report.ok, report.checks) for report in reports]
    console.reply({"schedules": [report.as_dict() for report in reports]}, "\n\n".join(shown))
    return 0 if all(report.ok for report in reports) else 1


@schedule.command()
@home_only("schedules of a place are fired there")
@with_console
def tick(console: Console) -> int:
    """Do everything that is due, then exit: start runs, and let runs go on that have waited long enough.

    What becomes due while runs go on is done as well. Whatever fires schedules calls this, every minute.
    """
    schedules = console.workspace().schedules
    report = schedules.tick()
    items = [item.as_dict() for item in report.items]
    wrong = [item for item in report.items if item.state in ("lost", "refused")]
    if console.json:
        message = f"{len(wrong)} due time{'s' * (len(wrong) != 1)} could not be started"
        failure = {} if report.ok else {"error": {"type": "execution", "message": message}}
        console.envelope({"success": report.ok, **failure, "data": {"items": items}})
    else:
        known = {view.schedule.name: view.schedule for view in schedules.list()} if items else {}
        lines = [render_item(item, known) for item in report.items if item not in wrong]
        if lines:
            console.text("\n".join(lines))
        console.remark(*(f"error: {render_item(item, known)}" for item in wrong))
    return report.signalled or (0 if report.ok else 1)


schedule.add_command(install)
schedule.add_command(uninstall)


def _kept(console: Console) -> ScheduleBook:
    """The schedules of the home, or of the place that the command names."""
    return console.workspace().place_schedules if console.on else console.workspace().schedules


def _at(console: Console) -> str:
    """The place, in commands that messages show."""
    return f" --on {escape(console.on)}" if console.on else ""


def _join_words(when: str, inputs: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The time and the inputs; `every 15m` may be two words, and a time without its quotes is explained."""
    if when.lower() == "every" and inputs and "=" not in inputs[0]:
        return f"{when} {inputs[0]}", inputs[1:]
    bare = [word for word in inputs if "=" not in word]
    if bare and not any(letter.isspace() for letter in when):
        raise UsageError(
            f"the time is more than one word: `{escape(when)}`, `{escape(bare[0])}` …",
            suggestions=['put it in quotes: `pflow schedule add WORKFLOW "0 7 * * 1-5"`'],
        )
    return when, inputs
