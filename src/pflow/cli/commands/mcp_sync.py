"""`pflow mcp sync` and `pflow mcp doctor`: the commands that start servers, and what people read of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_server
from pflow.cli.console import Console
from pflow.cli.text import columns, show_details, show_fact
from pflow.core.errors import UsageError
from pflow.core.printable import escape, shorten

if TYPE_CHECKING:
    from pflow.workspace.server_report import ServerCheck, SyncFailure, SyncReport

_MARKS = {True: "ok", False: "FAILED", None: "note"}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@click.option("--all", "everything", is_flag=True, help="Every configured server.")
@click.option("--yes", is_flag=True, help="Agree to what would be started, without being asked.")
@click.option("--dry-run", is_flag=True, help="Show what would change.")
@click.option("--trust-readonly", is_flag=True, help="Believe these servers which tools only read; results are cached.")
@with_console
def sync(
    console: Console, names: tuple[str, ...], everything: bool, yes: bool, dry_run: bool, trust_readonly: bool
) -> int:
    """Start the servers NAME, and make their tools node types.

    Shows what changed since the last time, and which saved workflows that touches.
    """
    if bool(names) == everything:
        raise UsageError("name the servers to sync, or say `--all`", suggestions=["pflow mcp list"])
    return sync_servers(console, names, yes=yes, dry_run=dry_run, trust_readonly=trust_readonly)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@with_console
def doctor(console: Console, names: tuple[str, ...]) -> int:
    """Look at everything on the way to the servers NAME, or to all, and say what is wrong."""
    reports = console.workspace().servers.check(names)
    return show_checks(console, reports, "\n\n".join(_report_check(report) for report in reports))


def sync_servers(
    console: Console, names: Sequence[str], *, yes: bool, dry_run: bool = False, trust_readonly: bool = False
) -> int:
    """Sync servers, all if none is named, and print what came of it; returns the exit code."""
    reports = console.workspace().servers.sync(
        names, agree=asking(console, yes), dry_run=dry_run, trust_readonly=trust_readonly
    )
    say_none(console, reports)
    return show_sync(console, reports, dry_run=dry_run)


def show_checks(console: Console, reports: Sequence[ServerCheck], text: str) -> int:
    """Print what was found on the way to servers, for people as `text`; returns the exit code."""
    say_none(console, reports)
    console.reply({"servers": [report.as_dict() for report in reports]}, text)
    return 0 if all(report.ok for report in reports) else 1


def say_none(console: Console, servers: Sequence[object]) -> None:
    """Say how to configure a server when there is none."""
    if not servers:
        console.remark("no server is configured\n\nhint: pflow mcp add NAME -- COMMAND")


def say_notes(console: Console, notes: Iterable[str]) -> None:
    """Say what a person should know of the servers that were configured."""
    console.remark(*(f"note: {escape(note)}" for note in notes))


def asking(console: Console, yes: bool) -> Callable[[str], bool] | None:
    """How a person is asked whether a server may be started; None where nobody is there to answer."""
    if yes:
        return lambda _: True
    if console.json or not sys.stdin or not sys.stdin.isatty():
        return None

    def ask(text: str) -> bool:
        console.say(text)
        return click.confirm("agree?", default=False, err=True)

    return ask


def show_sync(console: Console, reports: Sequence[SyncReport | SyncFailure], *, dry_run: bool = False) -> int:
    """Print what came of a sync; returns the exit code."""
    from pflow.workspace.server_report import SyncFailure  # lazy: completion needs no reports

    failed = [report for report in reports if isinstance(report, SyncFailure)]
    if console.json:
        first = {"error": failed[0].error.as_dict()} if failed else {}
        shown = [report.as_dict() for report in reports]
        console.envelope({"success": not failed, **first, "data": {"servers": shown, "dry_run": dry_run}})
    else:
        done = [_report_sync(report, dry_run) for report in reports if not isinstance(report, SyncFailure)]
        if done:
            console.text("\n".join(done))
        if failed:
            console.say("\n\n".join(_report_failure(report) for report in failed))
    return 0 if not failed else 3 if all(report.error.type == "security" for report in failed) else 1


def _report_failure(report: SyncFailure) -> str:
    error = report.error
    message = f"{report.server}: {error.message}"
    details = show_details({"message": message, "details": error.details})
    hints = [f"hint: {escape(hint)}" for hint in error.suggestions]
    return "\n".join([f"error: {escape(message)}", *details, *([""] if hints else []), *hints])


def _report_sync(report: SyncReport, dry_run: bool) -> str:
    tools, listed = report.tools_registered, report.tools_discovered
    number = f"{tools:,} of {listed:,}" if tools != listed else f"{tools:,}"
    counts = [f"{number} tool{'s' * (listed != 1)}"]
    for found, word in ((report.added, "new"), (report.changed, "changed"), (report.removed, "gone")):
        if found:
            counts.append(f"{len(found):,} {word}")
    verb = "would have" if dry_run else "has"
    lines = [f"{report.server} {verb} {', '.join(counts)} ({report.seconds:.2f} s)"]
    lines += columns([(f"+ {escape(tool.name)}", shorten(tool.description, 80)) for tool in report.added])
    for change in report.changed:
        lines.append(f"  ~ {escape(change.name)}")
        lines += [f"      {escape(text)}" for text in change.differences]
    lines += [f"  - {escape(name)}" for name in report.removed]
    lines += [
        f"  ! workflow `{escape(touch.workflow)}`, node `{escape(touch.node)}`: {escape(touch.problem)}"
        for touch in report.touched
    ]
    lines += [f"  note: {escape(warning)}" for warning in report.warnings]
    return "\n".join(lines)


def _report_check(report: ServerCheck) -> str:
    lines = [f"{escape(report.server)}: {'works' if report.ok else 'does not work'}"]
    for check in report.checks:
        took = f" ({check.ms} ms)" if check.ms is not None else ""
        lines.append(f"  {_MARKS[check.ok]:<7} {check.check}: {escape(check.found)}{took}")
        for name, value in check.details.items():
            lines += [f"          {line}" for line in show_fact(name, value)]
        lines += [f"          hint: {escape(hint)}" for hint in check.hints]
    return "\n".join(lines)
