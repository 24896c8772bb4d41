"""`pflow mcp sync` and `pflow mcp doctor`: the commands that start servers, and what people read of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import click

from pflow.cli.completion import complete_server
from pflow.cli.console import Console
from pflow.cli.lazy_group import json_option, pass_console
from pflow.cli.text import columns, show_details, show_fact
from pflow.core.errors import UsageError
from pflow.core.json_type import JsonView
from pflow.core.printable import escape, shorten

_MARKS = {True: "ok", False: "FAILED", None: "note"}


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@click.option("--all", "everything", is_flag=True, help="Every configured server.")
@click.option("--yes", is_flag=True, help="Agree to what would be started, without being asked.")
@click.option("--dry-run", is_flag=True, help="Show what would change.")
@click.option("--trust-readonly", is_flag=True, help="Believe these servers which tools only read; results are cached.")
@json_option
@pass_console
def sync(
    console: Console, names: tuple[str, ...], everything: bool, yes: bool, dry_run: bool, trust_readonly: bool
) -> int:
    """Start the servers NAME, and make their tools node types.

    Shows what changed since the last time, and which saved workflows that touches.
    """
    if bool(names) == everything:
        raise UsageError("name the servers to sync, or say `--all`", suggestions=["pflow mcp list"])
    reports = console.workspace().servers.sync(
        names, agree=asking(console, yes), dry_run=dry_run, trust_readonly=trust_readonly
    )
    say_none(console, reports)
    return show_sync(console, reports, dry_run=dry_run)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_server)
@json_option
@pass_console
def doctor(console: Console, names: tuple[str, ...]) -> int:
    """Look at everything on the way to the servers NAME, or to all, and say what is wrong."""
    reports = console.workspace().servers.check(names)
    say_none(console, reports)
    console.reply({"servers": reports}, "\n\n".join(_report_check(report) for report in reports))
    return 0 if all(report["ok"] for report in reports) else 1


def say_none(console: Console, reports: Sequence[JsonView]) -> None:
    """Say that there is nothing to talk about, if so."""
    if not reports and not console.json:
        console.say("no server is configured\n\nhint: pflow mcp add NAME -- COMMAND")


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


def show_sync(console: Console, reports: Iterable[JsonView], *, dry_run: bool = False) -> int:
    """Print what came of a sync; returns the exit code."""
    reports = list(reports)
    failed = [report for report in reports if "error" in report]
    if console.json:
        first = {"error": failed[0]["error"]} if failed else {}
        console.envelope({"success": not failed, **first, "data": {"servers": reports, "dry_run": dry_run}})
    else:
        done = [_report_sync(report, dry_run) for report in reports if report not in failed]
        if done:
            console.text("\n".join(done))
        for position, report in enumerate(failed):
            if position:
                console.say("")
            console.say(_report_failure(str(report["server"]), cast("JsonView", report["error"])))
    return 0 if not failed else 3 if all(cast("JsonView", r["error"])["type"] == "security" for r in failed) else 1


def _report_failure(server: str, error: JsonView) -> str:
    message = str(error["message"])
    known = {
        key: value for key, value in cast("JsonView", error["details"]).items() if (key, value) != ("server", server)
    }
    named = message if f"server `{server}`" in message else f"server `{server}`: {message}"
    hints = [f"hint: {escape(hint)}" for hint in cast("list[str]", error["suggestions"])]
    return "\n".join(
        [f"error: {escape(named)}", *show_details({**error, "details": known}), *([""] if hints else []), *hints]
    )


def _report_sync(report: JsonView, dry_run: bool) -> str:
    tools, listed = cast("int", report["tools_registered"]), cast("int", report["tools_discovered"])
    number = f"{tools:,} of {listed:,}" if tools != listed else f"{tools:,}"
    counts = [f"{number} tool{'s' * (listed != 1)}"]
    for kind, word in (("added", "new"), ("changed", "changed"), ("removed", "gone")):
        found = cast("list[object]", report[kind])
        if found:
            counts.append(f"{len(found):,} {word}")
    verb = "would have" if dry_run else "has"
    lines = [f"{report['server']} {verb} {', '.join(counts)} ({report['seconds']:.2f} s)"]
    added = cast("list[JsonView]", report["added"])
    lines += columns([(f"+ {escape(str(a['name']))}", shorten(str(a["description"]), 80)) for a in added])
    for change in cast("list[JsonView]", report["changed"]):
        lines.append(f"  ~ {escape(str(change['name']))}")
        lines += [f"      {escape(text)}" for text in cast("list[str]", change["differences"])]
    lines += [f"  - {escape(str(name))}" for name in cast("list[str]", report["removed"])]
    for touch in cast("list[JsonView]", report["touched"]):
        lines.append(
            f"  ! workflow `{escape(str(touch['workflow']))}`, node `{escape(str(touch['node']))}`: "
            f"{escape(str(touch['problem']))}"
        )
    lines += [f"  note: {escape(warning)}" for warning in cast("list[str]", report["warnings"])]
    return "\n".join(lines)


def _report_check(report: JsonView) -> str:
    lines = [f"{escape(str(report['server']))}: {'works' if report['ok'] else 'does not work'}"]
    for check in cast("list[JsonView]", report["checks"]):
        took = f" ({check['ms']} ms)" if "ms" in check else ""
        mark = _MARKS[cast("bool | None", check["ok"])]
        lines.append(f"  {mark:<7} {check['check']}: {escape(str(check['found']))}{took}")
        for name, value in cast("JsonView", check.get("details", {})).items():
            lines += [f"          {line}" for line in show_fact(name, value)]
        lines += [f"          hint: {escape(hint)}" for hint in cast("list[str]", check["hints"])]
    return "\n".join(lines)
