"""`pflow schedule install` and `uninstall`: let the system look every minute for what is due, and end that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.commands.mcp_sync import asking
from pflow.cli.completion import complete_from
from pflow.cli.console import Console
from pflow.cli.file_change import escape_lines
from pflow.cli.place.option import home_only
from pflow.core.errors import UsageError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace.schedule.timer_text import Timer

_KINDS = ("systemd", "launchd", "cron")
_KIND_HELP = "systemd, launchd or cron; by default, what this machine has."


@click.command()
@click.option("--kind", default="", metavar="KIND", shell_complete=complete_from(_KINDS), help=_KIND_HELP)
@click.option("--print", "only_print", is_flag=True, help="Show what would be installed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_only("schedules of a place are fired there")
@with_console
def install(console: Console, kind: str, only_print: bool, yes: bool) -> int:
    """Let this machine look every minute for what is due. What is written is shown first."""
    # lazy: rarely used
    from pflow.workspace.schedule.timer import describe, install_timer, plan_timer

    timer = plan_timer(kind, console.workspace().home)
    if only_print:
        console.reply({**_view(timer), "installed": False}, escape_lines(describe(timer)))
        return 0
    if not _agree(console, f"this is installed, {describe(timer)}", yes=yes):
        return 1
    notes = install_timer(timer)
    text = f"installed `{timer.label}` for {timer.kind}; it looks every minute for what is due"
    console.reply({**_view(timer), "installed": True, "notes": notes}, text)
    console.remark(*(f"note: {escape(note)}" for note in notes))
    return 0


@click.command()
@click.option("--kind", default="", metavar="KIND", shell_complete=complete_from(_KINDS), help=_KIND_HELP)
@click.option("--yes", is_flag=True, help="Do not ask.")
@home_only("schedules of a place are fired there")
@with_console
def uninstall(console: Console, kind: str, yes: bool) -> int:
    """Take out again what `install` has put into this machine; the schedules stay."""
    # lazy: rarely used
    from pflow.workspace.schedule.timer import describe, find_timers, plan_timer, remove_timer

    home = console.workspace().home
    found = [plan_timer(kind, home)] if kind else find_timers(home)
    if not found:
        console.reply({"removed": []}, "nothing is installed")
        return 0
    for timer in found:
        if not _agree(console, f"this is taken out, {describe(timer)}", yes=yes):
            return 1
        remove_timer(timer)
    kinds = [timer.kind for timer in found]
    console.reply({"removed": kinds}, f"took it out of {' and '.join(kinds)}; nothing looks for what is due now")
    return 0


def _view(timer: Timer) -> dict[str, object]:
    files = [{"path": str(file.path), "text": file.text} for file in timer.files]
    return {"kind": timer.kind, "label": timer.label, **({"line": timer.line} if timer.line else {"files": files})}


def _agree(console: Console, text: str, *, yes: bool) -> bool:
    ask = asking(console, yes)
    if ask is None:
        raise UsageError(
            "nobody can agree to a change of this machine", suggestions=["look at it with `--print`, then add `--yes`"]
        )
    if ask(f"{escape_lines(text)}\n"):
        return True
    console.say("nothing was changed")
    return False
