"""`pflow workflow …` and its short form `pflow describe`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pflow.cli.argument import check_workflow, find_workflow
from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.commands.discover import discover_workflows
from pflow.cli.commands.workflow_add import add
from pflow.cli.commands.workflow_setup import setup
from pflow.cli.commands.workflow_text import TEXT_COMMANDS, show_origin
from pflow.cli.completion import complete_run, complete_saved, complete_workflow
from pflow.cli.console import Console, speaks_unicode
from pflow.cli.picture import drawing_options, show_graph
from pflow.core.errors import ExistsError, UsageError
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.core.library.saved_workflow import SavedWorkflow
    from pflow.workspace import Checked, Workflow

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@click.group(cls=CommandGroup)
def workflow() -> None:
    """Save, list, describe, edit and compare workflows."""


workflow.add_command(discover_workflows)
for command in (*TEXT_COMMANDS, setup, add):
    workflow.add_command(command)


@workflow.command("list")
@click.argument("query", required=False, default="")
@click.option("--drafts", is_flag=True, help="Also those that are still being worked on.")
@with_console
def list_workflows(console: Console, query: str, drafts: bool) -> None:
    """Saved workflows, those that match QUERY."""
    found = console.workspace().workflows(query, drafts=drafts)
    rows = [(escape(entry.name), _origin(entry), _runs(entry), shorten(entry.description, 80)) for entry in found]
    if not rows:
        none = "no workflow is saved yet\n\nhint: pflow workflow save FILE NAME"
        console.remark(f"no saved workflow matches `{escape(query)}`" if query else none)
    console.reply({"workflows": [entry.as_dict() for entry in found]}, "\n".join(columns(rows, indent="")))


@click.command(short_help="Show what a workflow takes, gives and does.")
@click.argument("workflow", required=False, default="", shell_complete=complete_workflow)
@drawing_options
@click.option(
    "--run",
    metavar="RUN",
    shell_complete=complete_run,
    help="Show the workflow as this run had it, and what became of each node; a picture has colours for that.",
)
@with_console
def describe(console: Console, workflow: str, svg: str | None, mermaid: bool, run: str | None) -> None:
    """Show WORKFLOW: its inputs, its graph and its outputs; what is missing is marked."""
    if run is not None:
        if workflow:
            raise UsageError("give a workflow or `--run RUN`, not both")
        _describe_run(console, run, svg=svg, mermaid=mermaid)
        return
    if not workflow:
        raise UsageError("which workflow?", suggestions=["pflow describe WORKFLOW", "pflow describe --run RUN"])
    found = find_workflow(console, workflow)
    checked = check_workflow(console, found, workflow)
    plan = checked.shown_plan()
    if console.json and not (svg or mermaid):
        console.reply(console.workspace().describe(checked).as_dict(), "")
        return
    show_graph(console, plan, svg=svg, mermaid=mermaid, about=_about(console, checked), valid=checked.ok)
    say_lacks(console, checked)


workflow.add_command(describe, "describe")


def _describe_run(console: Console, run: str, *, svg: str | None, mermaid: bool) -> None:
    """The graph of a run's document, with how far each node came."""
    from pflow.cli.looking.colour import paint_cell  # lazy: only for runs
    from pflow.drawing.happened import fold_happened

    plan, trace = console.workspace().graph(run)
    states = fold_happened(plan, trace).states
    if svg is not None or mermaid:
        show_graph(console, plan, svg=svg, mermaid=mermaid, trace=trace)
        return
    from pflow.drawing.text import draw_text  # lazy: only for runs

    rows = [(escape(node), state.replace("-", " ")) for node, state in states.items()]
    table = [paint_cell(line, 2 + len(name), state) for line, (name, state) in zip(columns(rows), rows, strict=True)]
    graph = console.hide_parts(draw_text(plan, ascii_only=not speaks_unicode(console.stdout)))
    head = f"run {trace.get('run_id')}: {trace.get('status')}"
    console.show(
        {"run_id": trace.get("run_id"), "status": trace.get("status"), "nodes": states},
        "\n".join([head, "", graph.rstrip("\n"), "", *table]),
    )


@workflow.command()
@click.argument("document", metavar="WORKFLOW", shell_complete=complete_workflow)
@click.argument("name", required=False)
@click.option("--name", "named", metavar="NAME", help="The name to save it under; by default the document's own.")
@click.option("--description", default="", help="What it is for, in a sentence.")
@click.option("--overwrite", "--force", is_flag=True, help="Replace what is saved under that name.")
@click.option("--draft", is_flag=True, help="Save it as a draft, which is deleted some day.")
@click.option("--with-included", is_flag=True, help="Save the workflows that it includes by relative paths, too.")
@click.option("--project", is_flag=True, help="Save it in the project's folder `.pflow`, which is made if need be.")
@with_console
def save(
    console: Console, /, document: str, name: str | None, named: str | None, description: str, **options: bool
) -> None:
    """Keep WORKFLOW (a path, `-`, or a pipeline in quotes) under NAME."""
    found = _workflow_or_pipeline(console, document)
    checked = check_workflow(console, found, document)
    chosen = name or named or checked.ready().name
    if name and named and name != named:
        raise UsageError(f"two names are given: `{name}` and `{named}`")
    if not chosen:
        raise UsageError("the workflow needs a name", suggestions=[f"pflow workflow save {document} NAME"])
    if isinstance(found, dict):
        found["name"] = chosen
    try:
        if options.pop("project"):
            path = _save_in_project(console, checked, chosen, description, **options)
        else:
            path = console.workspace().save(found, chosen, description, **options)
    except ExistsError as error:
        if options["with_included"] and f"`{chosen}`" not in error.message:
            raise
        hints = ["choose another name, or replace it with `--overwrite`"]
        raise ExistsError(error.message, details=error.details, suggestions=hints) from None
    what = "draft" if options["draft"] else "workflow"
    command = f"pflow run {chosen}" if _is_taken(console, chosen) else f"pflow {chosen}"
    console.reply(
        {"name": chosen, "path": str(path)}, f"saved {what} `{escape(chosen)}`; run it with: {escape(command)}"
    )


@workflow.command()
@click.argument("name", shell_complete=complete_saved)
@click.option("--project", is_flag=True, help="Delete the file of the project's workflow instead.")
@with_console
def delete(console: Console, name: str, project: bool) -> None:
    """Remove NAME from the saved workflows."""
    if project:
        path = console.workspace().projects.delete(name)
        console.reply({"deleted": name, "path": str(path)}, f"deleted {escape(str(path))}")
        return
    console.workspace().delete(name)
    stays = console.workspace().state.is_kept(name)
    console.reply({"deleted": name, **({"state_stays": True} if stays else {})}, f"deleted `{escape(name)}`")
    if stays:
        console.remark(f"note: what it kept between runs stays; `pflow state unset {escape(name)} --all` deletes it")


@workflow.command("clean-temp")
@click.option("--older-than", default="7d", metavar="AGE", help="Such as 7d, 12h or 30m.", show_default=True)
@with_console
def clean_temp(console: Console, older_than: str) -> None:
    """Delete drafts that have not changed for a while."""
    gone = console.workspace().clean_drafts(read_age(older_than))
    names = f": {', '.join(escape(name) for name in gone)}" if gone else ""
    console.reply({"deleted": gone}, f"deleted {len(gone)} draft{'s' * (len(gone) != 1)}{names}")


def read_age(text: str) -> float:
    """Seconds from an age such as `7d`."""
    number, unit = text[:-1], text[-1:].lower()
    if unit not in _UNITS or not (number.isascii() and number.isdecimal() and len(number) < 7):
        raise UsageError(f"`{text}` is not an age", suggestions=["write a number and a unit: 30m, 12h, 7d or 2w"])
    return int(number) * _UNITS[unit]


def _workflow_or_pipeline(console: Console, word: str) -> Workflow:
    # lazy: only when something is saved
    from pflow.cli.commands.pipeline import read_pipeline
    from pflow.pipeline.pipeline import is_pipeline

    return read_pipeline(console, word).document if is_pipeline([word]) else find_workflow(console, word)


def _is_taken(console: Console, name: str) -> bool:
    """Whether a name alone means something else on the command line."""
    from pflow.cli.command_table import COMMANDS  # lazy: the root imports this module

    return name in COMMANDS or any(entry.name == name for entry in console.workspace().node_types())


def say_lacks(console: Console, checked: Checked) -> None:
    """Say what a workflow lacks to run, in one list, and what is wrong with it otherwise."""
    missing = console.workspace().describe(checked).missing
    if missing:
        console.remark("", "missing:", *(f"  {escape(each)}" for each in missing))
    others = [issue for issue in checked.errors if issue.code not in ("unknown-type", "unknown-workflow")]
    if others and not console.json:
        console.warn(others)
    if missing and not checked.source.is_inline:
        console.remark("", f"hint: pflow workflow setup {escape(checked.source.shown)}")


def _about(console: Console, checked: Checked) -> str:
    """What the library knows of a workflow beyond its document."""
    if checked.source.project is not None:
        return f"from {escape(str(checked.source.project.path(checked.source.shown)))}"
    if not checked.source.library:
        return ""
    known = console.workspace().describe(checked).statistics
    parts = [escape(known.description), _runs(known), *show_origin(known.metadata)] if known else []
    return "\n".join(part for part in parts if part)


def _save_in_project(
    console: Console,
    checked: Checked,
    name: str,
    description: str,
    *,
    overwrite: bool,
    draft: bool,
    with_included: bool,
) -> Path:
    if draft or description or with_included:
        option = "--draft" if draft else "--description" if description else "--with-included"
        raise UsageError(
            f"`{option}` cannot be combined with `--project`",
            suggestions=["a project's workflow is its file alone; its document has a `description`"],
        )
    return console.workspace().projects.save(checked, name, overwrite=overwrite)


def _origin(entry: SavedWorkflow) -> str:
    place = f"project {escape(str(Path(entry.path).parent.parent))}" if entry.path else entry.origin
    return f"{place}, hidden by a project" if entry.hidden_by else place


def _runs(entry: SavedWorkflow) -> str:
    if entry.path:
        return ""  # pflow counts nothing for projects
    if not entry.runs:
        return "never run"
    last = entry.last_run_at[:16].replace("T", " ")
    return f"{entry.runs} run{'s' * (entry.runs != 1)}" + (f", last {escape(last)}" if last else "")
