"""`pflow learn`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.cli.learning.lesson_text import render_lesson
from pflow.cli.learning.session_text import call_lines, call_name, session_lines
from pflow.core.errors import UsageError
from pflow.core.project.search import current_directory
from pflow.core.session.number_list import read_numbers

if TYPE_CHECKING:
    from pflow.core.session.call import Session
    from pflow.core.session.find import Found

EXAMPLE = """\b
Examples:
  pflow learn                      the newest session of this directory, as a draft
  pflow learn claude --name triage
  pflow learn session.jsonl -o triage.yaml --calls 3,5-9
  pflow learn --list
  pflow learn latest --list

\b
Exit codes: 0 the replay gave what the session did, 1 it differs, 2 there is nothing to learn from.
"""


@click.command(short_help="Make a workflow of what an agent did in a session.", epilog=EXAMPLE)
@click.argument("session", default="")
@click.option(
    "--list", "is_list", is_flag=True, help="List the newest sessions of this directory, or the calls of SESSION."
)
@click.option("--from", "first", type=click.IntRange(min=1), metavar="N", help="The first call to learn from.")
@click.option("--to", "last", type=click.IntRange(min=1), metavar="N", help="The last one.")
@click.option("--calls", default="", metavar="LIST", help="Exactly these calls, such as `3,5-9`.")
@click.option("--name", default="", metavar="NAME", help="Save the workflow in the library under NAME.")
@click.option("-o", "--output", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write it to a file.")
@click.option("--overwrite", is_flag=True, help="Replace the workflow or file that is there.")
@click.option("--keep-all", is_flag=True, help="Keep every call that succeeded, also those that only looked around.")
@click.option("--no-llm", is_flag=True, help="Ask a person for what the agent wrote itself, not a model.")
@click.option(
    "--bind", "bindings", multiple=True, metavar="N.ARG=STEP.PATH", help="Bind an argument of a call by hand."
)
@with_console
def learn(
    console: Console,
    session: str,
    is_list: bool,
    first: int | None,
    last: int | None,
    calls: str,
    name: str,
    file: Path | None,
    overwrite: bool,
    keep_all: bool,
    no_llm: bool,
    bindings: tuple[str, ...],
) -> int:
    """Make a workflow of the last task in SESSION, prove it by a replay, and keep it with a test.

    SESSION is a file, the beginning of an id, `latest` (the default), or a host whose newest session in this directory
    is meant: claude, codex, gemini, opencode, cursor, or pflow for what `pflow mcp record` has recorded. No model
    takes part.
    """
    directory = current_directory() or Path.home()
    learning = console.workspace().learning
    if is_list:
        if session:
            return _list_calls(console, learning.without_secrets(learning.read(session, directory)))
        return _list(console, learning.sessions(directory), directory)
    if name and file:
        raise UsageError("`--name` and `-o` exclude each other", suggestions=["give one of them"])
    numbers = read_numbers(calls)
    if numbers and (first or last):
        raise UsageError("`--calls` does not go with `--from` and `--to`", suggestions=["give one or the other"])
    found = learning.read(session, directory)
    lesson = learning.learn(
        found,
        first=first,
        last=last,
        numbers=numbers,
        keep_all=keep_all,
        llm=not no_llm,
        bindings=_bindings(bindings),
        name=name,
        file=file,
        overwrite=overwrite,
    )
    console.reply({"lesson": lesson.as_dict()}, render_lesson(lesson))
    return 0 if lesson.is_proven else 1


def _list(console: Console, found: list[Found], directory: Path) -> int:
    rows: list[dict[str, object]] = [
        {"host": one.host, "id": one.id, "changed_at": one.changed_at, "prompt": one.prompt, "path": str(one.path)}
        for one in found
    ]
    counted = [console.workspace().learning.count_calls(one) for one in found]
    for row, count in zip(rows, counted, strict=True):
        row["calls"] = count
    lines = session_lines(found, counted)
    console.reply({"sessions": rows}, "\n".join(lines) or f"no agent had a session in `{directory}`")
    return 0


def _list_calls(console: Console, session: Session) -> int:
    rows = [
        {"number": call.number, "tool": call_name(call), "arguments": dict(call.arguments), "ok": call.ok}
        for call in session.calls
    ]
    prompts = [{"before": prompt.before, "text": prompt.text} for prompt in session.prompts]
    lines = list(call_lines(session)) or [f"the session `{session.id}` has no calls of tools"]
    console.reply({"session": session.id, "host": session.host, "prompts": prompts, "calls": rows}, "\n".join(lines))
    return 0


def _bindings(words: tuple[str, ...]) -> dict[tuple[int, str], str]:
    found: dict[tuple[int, str], str] = {}
    for word in words:
        match = re.fullmatch(r"(\d{1,6})\.([^=]+)=(.*)", word)
        if match is None:
            raise UsageError(
                f"`{word}` does not bind an argument",
                suggestions=["write `--bind 4.path=list-files.files[0].name`; nothing after `=` keeps the value"],
            )
        found[int(match[1]), match[2]] = match[3].removeprefix("${").removesuffix("}")
    return found
