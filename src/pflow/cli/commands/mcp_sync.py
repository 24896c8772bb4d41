"""The commands that start MCP servers: `pflow mcp sync|doctor`, and their other names under `pflow registry`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_file, complete_server
from pflow.cli.console import Console, shows_progress
from pflow.cli.text import show_details
from pflow.core.errors import UsageError
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.core.health import Check
    from pflow.workspace.server_report import ServerCheck, SyncFailure, SyncReport

COMPARE_HELP = "What of a tool must stay as synced: everything (the default), or its schema, not its wording."

_SHOWN_NAMES = 10
_MARKS = {True: "ok", False: "FAILED", None: "note"}


class SyncOptions(TypedDict, total=False):
    """How servers are synced."""

    dry_run: bool
    trust_readonly: bool
    compare: str | None


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@click.option("--all", "everything", is_flag=True, help="Every configured server.")
@click.option("--yes", is_flag=True, help="Agree to what would be started, without being asked.")
@click.option("--dry-run", is_flag=True, help="Show what would change.")
@click.option("--trust-readonly", is_flag=True, help="Trust them on which tools only read; results are cached.")
@click.option("--compare", metavar="WHAT", help=COMPARE_HELP)
@with_console
def sync(
    console: Console, /, names: tuple[str, ...], everything: bool, yes: bool, **options: Unpack[SyncOptions]
) -> int:
    """Start the servers NAME, and make their tools node types.

    Shows what changed since the last time, and which saved workflows that touches.
    """
    if bool(names) == everything:
        raise UsageError("name the servers to sync, or say `--all`", suggestions=["pflow mcp list"])
    return sync_servers(console, names, yes=yes, **options)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@with_console
def doctor(console: Console, names: tuple[str, ...]) -> int:
    """Look at everything on the way to the servers NAME, or to all, and say what is wrong."""
    reports = console.workspace().servers.check(names, waiting=_waiting(console))
    return show_checks(
        console, reports, "\n\n".join(render_checks(report.server, report.ok, report.checks) for report in reports)
    )


@click.command("add-mcp")
@click.option("--server", "name", required=True, metavar="NAME", help="What to call the server.")
@click.option("--command", metavar="'COMMAND ARG...'", help="The command that starts it, as a shell would split it.")
@click.option("--url", help="Address of a remote server.")
@click.option("--transport", metavar="NAME", help="stdio, sse, stream-http (or http), uds, pipe.")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool; can be repeated.")
@click.option("--overwrite", is_flag=True, help="Replace a server of this name.")
@with_console
def add_mcp(
    console: Console, /, name: str, command: str | None, tools: tuple[str, ...], overwrite: bool, **given: object
) -> int:
    """Configure a server and make its tools node types, in one go."""
    program, *args = _split(command) if command is not None else [""]
    fields = {**given, "command": program, "args": args, "tools": list(tools)}
    servers = console.workspace().servers
    added = servers.add(name, {key: value for key, value in fields.items() if value}, overwrite=overwrite)
    say_notes(console, added.warnings or ())
    return show_sync(console, servers.sync([name], agree=None))


@click.command()
@click.option("--mcp-server", "names", multiple=True, metavar="NAME", shell_complete=complete_server)
@click.option("--yes", is_flag=True, help="Agree to what would be started, without being asked.")
@with_console
def refresh(console: Console, names: tuple[str, ...], yes: bool) -> int:
    """Read node types again: those of an MCP server, or of all servers."""
    return sync_servers(console, names, yes=yes)


@click.command("migrate-mcp")
@click.option(
    "--from",
    "source",
    required=True,
    metavar="FILE",
    shell_complete=complete_file,
    help="The file that holds the servers.",
)
@click.option("--backup", is_flag=True, help="Keep a copy of FILE beside it.")
@with_console
def migrate_mcp(console: Console, source: str, backup: bool) -> int:
    """Take over the servers of an older `mcp.json`, and make their tools node types."""
    servers = console.workspace().servers
    copy = servers.back_up(source) if backup else None
    agree = asking(console, yes=False)
    found = servers.import_from(source, agree=agree)
    added = [server.name for server in found.added]
    if copy is not None:
        console.remark(f"kept a copy as `{escape(copy)}`")
    names = f": {', '.join(added)}" if added else ""
    console.remark(f"took over {len(added)} server{'s' * (len(added) != 1)}{names}")
    say_notes(console, found.notes)
    return show_sync(console, servers.sync(added, agree=agree) if added else [])


@click.command("test-mcp-connections")
@with_console
def test_connections(console: Console) -> int:
    """Connect to every configured server, and say which work."""
    reports = console.workspace().servers.check(waiting=_waiting(console))
    rows = [
        (escape(report.server), "works" if report.ok else "FAILED", escape(report.checks[-1].found))
        for report in reports
    ]
    return show_checks(console, reports, "\n".join(columns(rows, indent="")))


def sync_servers(console: Console, names: Sequence[str], *, yes: bool, **options: Unpack[SyncOptions]) -> int:
    """Sync servers, all if none is named, and print the reports; returns the exit code."""
    reports = console.workspace().servers.sync(names, agree=asking(console, yes), waiting=_waiting(console), **options)
    say_none(console, reports)
    return show_sync(console, reports, dry_run=options.get("dry_run", False))


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
    """How a person is asked whether a server may be started; None if nobody can answer."""
    if yes:
        return lambda _: True
    if console.json or not sys.stdin or not sys.stdin.isatty():
        return None

    def ask(text: str) -> bool:
        console.say(text)
        return click.confirm("agree?", default=False, err=True)

    return ask


def _waiting(console: Console) -> Callable[[Sequence[str], int], None] | None:
    """Says on a terminal which servers are waited for; None where nobody watches."""
    if console.json or not shows_progress():
        return None

    def say(names: Sequence[str], left: int) -> None:
        shown = ", ".join(escape(name) for name in names[:_SHOWN_NAMES])
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        console.say(f"waiting for {shown}{more}" + (f"; {left} to start" if left else ""))

    return say


def show_sync(console: Console, reports: Sequence[SyncReport | SyncFailure], *, dry_run: bool = False) -> int:
    """Print the reports of a sync; returns the exit code."""
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


def render_checks(name: str, ok: bool, checks: Iterable[Check]) -> str:
    """What was looked at, and what was found, for people."""
    lines = [f"{escape(name)}: {'works' if ok else 'does not work'}"]
    for check in checks:
        took = f" ({check.ms} ms)" if check.ms is not None else ""
        lines.append(f"  {_MARKS[check.ok]:<7} {check.check}: {escape(check.found)}{took}")
        known = show_details({"message": check.found, "details": check.details})
        lines += [f"        {line}" for line in known]
        lines += [f"          hint: {escape(hint)}" for hint in check.hints]
    return "\n".join(lines)


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"`--command` cannot be split into words: {error}") from None
    if not words:
        raise UsageError("`--command` is empty", suggestions=["give the program and its arguments"])
    return words
