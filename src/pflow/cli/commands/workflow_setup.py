"""`pflow workflow setup`: gets what a workflow requires, asking a person about each part of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow
from pflow.cli.command_group import with_console
from pflow.cli.commands.mcp_sync import asking, say_notes, show_sync
from pflow.cli.completion import complete_workflow
from pflow.cli.console import Console
from pflow.cli.text import quote
from pflow.core.errors import PflowError
from pflow.core.printable import columns, escape

if TYPE_CHECKING:
    from pflow.execution.need.requirement import Difference, Missing, Needs
    from pflow.workspace import Checked, Workflow


@click.command()
@click.argument("workflow", shell_complete=complete_workflow)
@click.option("--yes", is_flag=True, help="Add and start the servers that it requires, without being asked.")
@with_console
def setup(console: Console, workflow: str, yes: bool) -> int:
    """Get what WORKFLOW requires: servers, settings and programs.

    On a terminal each missing part is shown and asked about. Otherwise the commands that would add it are printed, and
    nothing is changed.
    """
    found = find_workflow(console, workflow)
    checked = check_workflow(console, found, workflow)
    checked.shown_plan()
    needs = console.workspace().needs(found)
    agree = asking(console, yes)
    if agree is not None and needs.missing:
        _get(console, needs, agree)
        console.close()  # what was read of settings and tools is old now
        checked = console.workspace().check(found)
        needs = console.workspace().needs(found)
    return _report(console, found, checked, needs)


def _get(console: Console, needs: Needs, agree: Callable[[str], bool]) -> None:
    """Ask about what is missing, and get what is agreed to: settings first, since servers may be given them."""
    is_terminal = bool(sys.stdin and sys.stdin.isatty()) and not console.json
    for missing in needs.missing if is_terminal else ():
        if missing.kind == "setting":
            _ask_setting(console, missing.name)
    console.close()  # servers are started with the settings as they are now
    for missing in needs.missing:
        if missing.kind == "server" and missing.server:
            _get_server(console, missing, agree)


def _ask_setting(console: Console, name: str) -> None:
    value: str = click.prompt(
        f"value of the setting {name} (Enter leaves it out)", hide_input=True, default="", show_default=False, err=True
    )
    if not value:
        return
    try:
        console.workspace().set_setting(name, value)
    except PflowError as error:
        console.fail(error)
        return
    console.remark(f"stored {name}")


def _get_server(console: Console, missing: Missing, agree: Callable[[str], bool]) -> None:
    servers = console.workspace().servers
    if not missing.unsynced:
        if not agree(servers.preview(missing.name, missing.server)):
            console.remark(f"server `{missing.name}` is not added")
            return
        added = servers.add(missing.name, missing.server)
        say_notes(console, added.warnings or ())
    reports = servers.sync([missing.name], agree=agree)
    if not console.json:
        show_sync(console, reports)


def _report(console: Console, found: Workflow, checked: Checked, needs: Needs) -> int:
    """Say what is left to do, with the command for each part; the exit code is 0 once the workflow can run."""
    described = console.workspace().describe(checked)
    steps = [str(node["missing"]) for node in described.nodes if node.get("missing")]
    ready = checked.ok and not needs.missing
    name = found if isinstance(found, str) else "the workflow"
    if console.json:
        data = {
            "ready": ready,
            "missing": [_as_dict(each) for each in needs.missing],
            "differing": [{"name": each.name, "wanted": dict(each.wanted)} for each in needs.differing],
            "unknown": steps,
        }
        error = {"error": {"type": "validation", "message": _count(len(needs.missing), steps)}}
        console.envelope({"success": ready, **({} if ready else error), "data": data})
        return 0 if ready else 2
    rows = [(each.kind, escape(each.name), command) for each in needs.missing for command in commands_for(each)]
    if rows:
        console.text("\n".join(["missing:", *columns(rows)]))
    unknown = [step for step in steps if not any(f"`mcp-{each.name}-" in step for each in needs.missing)]
    if unknown:
        console.text("\n".join(["its steps name what is not there:", *(f"  {escape(step)}" for step in unknown)]))
    for each in needs.differing:
        console.say("\n".join(_show_difference(console, each)))
    if ready:
        console.text(f"`{escape(name)}` has all that it requires")
    elif not (rows or unknown):
        console.say(f"`{escape(name)}` is not valid; `pflow validate {escape(quote(name))}` says why")
    return 0 if ready else 2


def commands_for(missing: Missing) -> list[str]:
    """What a person can do about something that is missing, a command or a sentence each."""
    match missing.kind:
        case "pflow":
            return ["update pflow"]
        case "setting":
            return [f"pflow settings set {missing.name}"]
        case "program":
            return ["install it with your system's package manager; pflow installs nothing"]
    if not missing.server:
        return [escape(missing.message)]
    sync = f"pflow mcp sync {missing.name}"
    return [sync] if missing.unsynced else [add_command(missing.name, missing.server), sync]


def add_command(name: str, fields: Mapping[str, object], *options: str) -> str:
    """The command that configures a server, whole, as a shell takes it."""
    return f"{_line(['pflow', 'mcp', 'add', *options, name])} {server_words(fields)}"


def server_words(fields: Mapping[str, object]) -> str:
    """A required server as the words behind `pflow mcp add NAME`."""
    words: list[str] = []
    for option, key in (("--url", "url"), ("--transport", "transport")):
        if key in fields:
            words += [option, str(fields[key])]
    env, headers, args = fields.get("env"), fields.get("headers"), fields.get("args")
    for key, value in env.items() if isinstance(env, Mapping) else ():
        words += ["--env", f"{key}={value}"]
    for key, value in headers.items() if isinstance(headers, Mapping) else ():
        words += ["--header", f"{key}: {value}"]
    if "command" in fields:
        words += ["--", str(fields["command"]), *(args if isinstance(args, list) else [])]
    return _line(words)


def _line(words: Iterable[str]) -> str:
    return " ".join(escape(quote(word)) for word in words)


def _show_difference(console: Console, found: Difference) -> list[str]:
    have = console.workspace().servers.show(found.name)
    words = [have.command, *have.args] if have.command else [have.url or have.socket]
    return [
        f"note: server `{found.name}` is configured in another way; yours is used and nothing was replaced",
        f"  yours:    {_line(words)}",
        f"  required: {server_words(found.wanted).removeprefix('-- ')}",
        f"  to replace it: {add_command(found.name, found.wanted, '--overwrite')}",
    ]


def _as_dict(missing: Missing) -> dict[str, object]:
    shown = {"kind": missing.kind, "name": missing.name, "message": missing.message}
    return {**shown, "commands": commands_for(missing)}


def _count(missing: int, steps: list[str]) -> str:
    number = missing or len(steps)
    return f"{number} thing{'s' * (number != 1)} that the workflow needs {'is' if number == 1 else 'are'} missing"
