"""`pflow workflow show|edit|diff|history|restore|rename|export`: saved workflows as texts that a person owns."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_file, complete_saved
from pflow.cli.console import Console
from pflow.core.errors import ExistsError, StorageError, UsageError
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.core.document.difference import Change
    from pflow.workspace.library import Comparison

_LONGEST_VALUE_CHARACTERS = 100
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.option("--version", type=int, metavar="N", help="An earlier version; `pflow workflow history NAME` lists them.")
@with_console
def show(console: Console, name: str, version: int | None) -> None:
    """Print the text that is saved under NAME, as its author wrote it."""
    found = console.workspace().library.read(name, version)
    if console.json:
        console.reply(found.as_dict(), "")
    else:
        console.raw(found.text.data)


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.option(
    "--from",
    "start",
    metavar="FILE",
    shell_complete=complete_file,
    help="Start with the text of FILE, such as an edit that was kept.",
)
@with_console
def edit(console: Console, name: str, start: str | None) -> None:
    """Change NAME in your editor ($VISUAL or $EDITOR), and save it once it is valid."""
    library = console.workspace().library
    work = library.begin_edit(name, Path(start) if start else None)
    _open_editor(work.path)
    console.source = str(work.path)
    version = library.finish_edit(work)
    if version is None:
        console.reply({"name": name, "changed": False}, f"`{escape(name)}` is unchanged")
    elif version == 0:
        console.reply(
            {"name": name, "changed": True, "path": str(work.base.path)}, f"saved {escape(str(work.base.path))}"
        )
    else:
        console.reply({"name": name, "changed": True, "version": version}, f"saved `{escape(name)}`, version {version}")


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.argument("others", nargs=-1, metavar="[VERSION|WORKFLOW]…")
@click.option("--lines", is_flag=True, help="Line by line instead of by meaning.")
@with_console
def diff(console: Console, name: str, others: tuple[str, ...], lines: bool) -> None:
    """Show how NAME differs from its last version, from VERSION, or from another WORKFLOW.

    \b
    pflow workflow diff report            what the last save changed
    pflow workflow diff report 3          since version 3
    pflow workflow diff report 3 5        between two versions
    pflow workflow diff report new.yaml   what a file would change
    """
    if len(others) > 2:
        raise UsageError("at most two versions or workflows can be compared")
    found = console.workspace().library.compare(name, *others)
    console.reply(found.as_dict(), "\n".join(render_comparison(found, lines)))


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.option("--prune", type=click.IntRange(1), metavar="N", help="Keep only the newest N versions.")
@with_console
def history(console: Console, name: str, prune: int | None) -> None:
    """List the versions of NAME, newest first."""
    library = console.workspace().library
    gone = library.prune(name, prune) if prune is not None else 0
    versions = library.versions(name)
    rows = [
        (str(each.number), each.saved_at[:16].replace("T", " "), each.form, f"{each.size} bytes") for each in versions
    ]
    origin = library.origin(name)
    console.remark(*show_origin({"origin": origin}))
    if gone:
        console.remark(f"deleted {gone} version{'s' * (gone != 1)}")
    listed = [
        {"version": each.number, "saved_at": each.saved_at, "form": each.form, "size": each.size} for each in versions
    ]
    answer = {"name": name, "versions": listed, "deleted": gone, **({"origin": origin} if origin else {})}
    console.reply(answer, "\n".join(columns(rows, indent="")))


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.argument("version", type=int)
@with_console
def restore(console: Console, name: str, version: int) -> None:
    """Save an earlier VERSION of NAME again. The versions between are kept."""
    number = console.workspace().library.restore(name, version)
    said = f"restored version {version} of `{escape(name)}` as version {number}"
    console.reply({"name": name, "restored": version, "version": number}, said)


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.argument("new_name")
@click.option("--project", is_flag=True, help="Rename the file of the project's workflow instead.")
@with_console
def rename(console: Console, name: str, new_name: str, project: bool) -> None:
    """Give NAME another name; its versions and statistics come along."""
    workspace = console.workspace()
    path = (workspace.projects if project else workspace.library).rename(name, new_name)
    said = f"renamed `{escape(name)}` to `{escape(new_name)}`"
    console.reply({"name": new_name, "renamed_from": name, "path": str(path)}, said)


@click.command()
@click.argument("name", shell_complete=complete_saved)
@click.argument("file", required=False, shell_complete=complete_file)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@with_console
def export(console: Console, name: str, file: str | None, overwrite: bool) -> None:
    """Write the text of NAME to FILE, by default NAME.yaml or NAME.json in the current directory."""
    found = console.workspace().library.read(name)
    path = Path(file) if file else Path(f"{name}{found.text.suffix}")
    try:
        with path.open("wb" if overwrite else "xb") as out:
            out.write(found.text.data)
    except FileExistsError:
        raise ExistsError(
            f"`{path}` is there already", suggestions=["choose another file, or use `--overwrite`"]
        ) from None
    except OSError as error:
        raise StorageError(f"`{path}` cannot be written: {error.strerror}") from error
    console.reply({"name": name, "path": str(path)}, f"wrote {escape(str(path))}")


def show_origin(metadata: Mapping[str, object]) -> list[str]:
    """Where a workflow of someone else came from, in a line; nothing for others."""
    origin = metadata.get("origin")
    if not isinstance(origin, Mapping):
        return []
    commit, file, version = (origin.get(key) for key in ("commit", "file", "version"))
    parts = [f"from {escape(str(origin.get('source', '')))}"]
    parts += [f"file {escape(str(file))}"] if file else []
    parts += [f"commit {escape(str(commit))}"] if commit else []
    parts += [f"added as version {version}"] if isinstance(version, int) else []
    return [", ".join(parts)]


TEXT_COMMANDS = (show, edit, diff, history, restore, rename, export)


def _open_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.call([*shlex.split(command), str(path)])
    except (OSError, ValueError) as error:
        path.unlink(missing_ok=True)
        raise UsageError(f"the editor `{command}` cannot be started: {error}", suggestions=["set EDITOR"]) from None
    if code:
        raise UsageError(
            f"the editor `{command}` ended with exit code {code}; nothing was saved",
            suggestions=[f"what you wrote is in `{path}`"],
        )


def render_comparison(found: Comparison, lines: bool = False) -> list[str]:
    """How two workflows differ, by meaning, or line by line."""
    if lines or found.changes is None:
        return [escape(line) for line in found.lines] or ["no difference"]
    if not found.changes:
        return ["they mean the same" if found.lines else "no difference"]
    shown: list[str] = []
    section = ""
    for change in found.changes:
        here = str(change.path[0])
        if here != section:
            section = here
            shown.append(section)
        shown.extend(_render_change(change))
    return shown


def _render_change(change: Change) -> list[str]:
    name = ".".join(escape(str(part)) for part in change.path[1:])
    sign = _SIGNS[change.kind]
    if change.kind == "added":
        return [f"  {sign} {name}{_value(': ', change.after)}"]
    if change.kind == "removed":
        return [f"  {sign} {name}{_value(': ', change.before)}"]
    texts = [change.before, change.after]
    if all(isinstance(text, str) for text in texts) and any("\n" in str(text) for text in texts):
        return [f"  {sign} {name}", *_text_lines(str(change.before), str(change.after))]
    return [f"  {sign} {name}: {_value('', change.before)} → {_value('', change.after)}"]


def _text_lines(before: str, after: str) -> list[str]:
    import difflib  # lazy: only for texts of several lines

    found = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return [f"      {escape(line)}" for line in list(found)[2:] if not line.startswith("@@")]


def _value(before: str, value: object) -> str:
    import orjson  # lazy: help does without

    return "" if value is None and before else before + shorten(orjson.dumps(value).decode(), _LONGEST_VALUE_CHARACTERS)
