"""`pflow state …`: what workflows keep between runs."""

from __future__ import annotations

import time

import click
import orjson

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.completion import complete_state_key, complete_workflow
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.cli.text import ago
from pflow.core.errors import UsageError
from pflow.core.printable import columns, escape, shorten

_VALUE_CHARACTERS = 60


@click.group(cls=CommandGroup)
def state() -> None:
    """See and change what workflows keep between runs.

    WORKFLOW is a saved name, a path, or the `scope` that the state of a document names.
    """


@state.command("list")
@click.argument("workflow", required=False, shell_complete=complete_workflow)
@place_option()
@with_console
def list_state(console: Console, workflow: str | None) -> None:
    """What WORKFLOW keeps; without one, every workflow that keeps something."""
    if workflow is None:
        scopes = console.workspace().state.scopes()
        if not scopes:
            console.remark("no workflow keeps anything yet")
        rows = [(escape(one.workflow), _count(one.values), ago(one.changed_at)) for one in scopes]
        console.reply({"workflows": [one.as_dict() for one in scopes]}, "\n".join(columns(rows, indent="")))
        return
    found = console.workspace().state.values(workflow)
    if not found:
        console.remark(f"`{escape(workflow)}` keeps nothing")
    table = [(escape(one.key), one.type, _shown(one.value), ago(one.at) if one.at else "default") for one in found]
    console.reply({"state": [one.as_dict() for one in found]}, "\n".join(columns(table, indent="")))


@state.command("get")
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("key", shell_complete=complete_state_key)
@place_option()
@with_console
def get_state(console: Console, workflow: str, key: str) -> None:
    """Print the value that WORKFLOW keeps as KEY."""
    found = console.workspace().state.get(workflow, key)
    console.reply(found.as_dict(), found.value if found.value is not None else "null")


@state.command("set")
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("key", shell_complete=complete_state_key)
@click.argument("value")
@place_option()
@with_console
def set_state(console: Console, workflow: str, key: str, value: str) -> None:
    """Let WORKFLOW keep VALUE as KEY: text, or JSON where the type is not text."""
    found = console.workspace().state.set(workflow, key, value, text=True)
    console.reply(found.as_dict(), f"{escape(found.key)} = {_shown(found.value)}")


@state.command("unset")
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("key", required=False, shell_complete=complete_state_key)
@click.option("--all", "everything", is_flag=True, help="Delete all that it keeps, earlier versions included.")
@place_option()
@with_console
def unset_state(console: Console, workflow: str, key: str | None, everything: bool) -> None:
    """Let KEY have its default again."""
    if (key is None) != everything:
        raise UsageError("say which KEY to unset, or `--all`" + (", not both" if key else ""))
    if key is None:
        gone = console.workspace().state.forget(workflow)
        said = f"deleted all that `{escape(workflow)}` kept" if gone else f"`{escape(workflow)}` kept nothing"
        console.reply({"workflow": workflow, "deleted": gone}, said)
        return
    console.workspace().state.unset(workflow, key)
    console.reply({"workflow": workflow, "key": key, "is_set": False}, f"{escape(key)} has its default again")


@state.command("history")
@click.argument("workflow", shell_complete=complete_workflow)
@click.argument("key", required=False, shell_complete=complete_state_key)
@place_option()
@with_console
def state_history(console: Console, workflow: str, key: str | None) -> None:
    """The last versions of KEY, or of everything that WORKFLOW keeps, newest first."""
    found = console.workspace().state.history(workflow, key)
    if not found:
        console.remark("nothing was ever set")
    rows = [
        (
            escape(one.key),
            str(one.version),
            _shown(one.value) if one.is_set else "unset",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at)),
            f"run {one.run_id}" if one.run_id else "by hand",
        )
        for one in found
    ]
    console.reply({"versions": [one.as_dict() for one in found]}, "\n".join(columns(rows, indent="")))


def _shown(value: object) -> str:
    return shorten(orjson.dumps(value).decode(), _VALUE_CHARACTERS)


def _count(values: int) -> str:
    return f"{values} value{'s' * (values != 1)}"
