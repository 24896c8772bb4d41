"""`pflow fmt`."""

from __future__ import annotations

import click

from pflow.cli.argument import find_workflow
from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_workflow
from pflow.cli.console import Console
from pflow.core.errors import PflowError
from pflow.core.printable import escape


@click.command(short_help="Write documents in their canonical form.")
@click.argument("workflows", nargs=-1, required=True, metavar="WORKFLOW…", shell_complete=complete_workflow)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a document is not in canonical form.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@with_console
def fmt(console: Console, workflows: tuple[str, ...], check: bool, diff: bool) -> int:
    """Write each WORKFLOW (a path, a saved name, or `-`) in canonical form: fields in order, two spaces.

    Comments stay where they belong, and what the document means does not change. A saved workflow gets a new version.
    A document on stdin is printed.
    """
    write = not (check or diff)
    rows: list[dict[str, object]] = []
    failures: list[PflowError] = []
    for word in workflows:
        try:
            rows.append(_form(console, word, write=write, diff=diff))
        except PflowError as error:
            if len(workflows) == 1:
                raise
            failures.append(error)
            rows.append({"workflow": word, "changed": False, "error": error.message})
            console.say(f"error: `{escape(word)}`: {escape(error.message)}")
    changed = [row for row in rows if row["changed"]]
    console.reply({"workflows": rows}, "")
    if failures:
        return failures[0].exit_code
    return 1 if check and changed else 0


def _form(console: Console, word: str, *, write: bool, diff: bool) -> dict[str, object]:
    found = find_workflow(console, word)
    console.source = "stdin" if word == "-" else word
    formed = console.workspace().format(found, write=write)
    shown = escape("stdin" if word == "-" else word)
    row: dict[str, object] = {"workflow": word, "changed": formed.changed}
    if diff:
        row["diff"] = formed.difference()
        _print(console, "\n".join(escape(line) for line in formed.difference()))
    elif word == "-" and write:
        row["text"] = formed.after
        if not console.json:
            console.raw(formed.after.encode())
    elif formed.changed:
        version = f", version {formed.version}" if formed.version else ""
        console.say(f"formatted {shown}{version}" if write else f"not in canonical form: {shown}")
    return row


def _print(console: Console, text: str) -> None:
    if text and not console.json:
        console.raw(f"{text}\n".encode())
