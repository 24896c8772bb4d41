"""`pflow settings …`: credentials and options."""

from __future__ import annotations

import sys

import click

from pflow.cli.argument import read_stdin
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.completion import complete_setting
from pflow.cli.console import Console
from pflow.core.printable import columns, escape
from pflow.core.setting.settings import Setting, is_credential


@click.group(cls=CommandGroup)
def settings() -> None:
    """Store credentials and options.

    Credentials are named like environment variables (GITHUB_TOKEN) and are never shown again.
    """


@settings.command("set")
@click.argument("key", shell_complete=complete_setting)
@click.argument("value", required=False)
@with_console
def set_setting(console: Console, key: str, value: str | None) -> None:
    """Store VALUE under KEY. Without VALUE, or with `-`, it is read from the terminal or stdin."""
    asked = value in (None, "-")
    console.workspace().set_setting(key, _ask(console, key) if value is None or value == "-" else value)
    found = console.workspace().setting(key)
    console.reply(found.as_dict(), f"{escape(key)} = {escape(found.shown)}")
    if found.origin:
        console.remark(f"note: `{escape(found.origin)}` sets it for this project; what you stored holds elsewhere")
    if is_credential(key) and not asked:
        console.remark(
            f"note: the value is in your shell's history now; `pflow settings set {key}` asks for it instead"
        )


@settings.command("get")
@click.argument("key", shell_complete=complete_setting)
@with_console
def get_setting(console: Console, key: str) -> None:
    """Show KEY; a credential only in part."""
    found = console.workspace().setting(key)
    console.reply(found.as_dict(), escape(found.shown))


@settings.command("list")
@with_console
def list_settings(console: Console) -> None:
    """Every credential that is set and every option there is."""
    found = console.workspace().settings()
    rows = [(escape(entry.key), escape(entry.shown), escape(entry.description) + _from(entry)) for entry in found]
    console.reply({"settings": [entry.as_dict() for entry in found]}, "\n".join(columns(rows, indent="")))


@settings.command("unset")
@click.argument("key", shell_complete=complete_setting)
@with_console
def unset_setting(console: Console, key: str) -> None:
    """Forget KEY; an option has its default again."""
    console.workspace().unset_setting(key)
    console.reply({"key": key, "set": False}, f"{escape(key)} is no longer set")


def _from(entry: Setting) -> str:
    return f" (from {escape(entry.origin)})" if entry.origin else ""


def _ask(console: Console, key: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        answer: str = click.prompt(f"value of {key}", hide_input=is_credential(key), err=True)
        return answer
    return read_stdin(console, what=f"the value of {escape(key)}").removesuffix("\n").removesuffix("\r")
