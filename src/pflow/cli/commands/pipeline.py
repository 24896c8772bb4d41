"""`pflow "a --x=1 >> b"`: nodes on the command line, without a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pflow.cli.argument import check_workflow, has_stdin, read_stdin
from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_pipeline
from pflow.cli.console import Console
from pflow.cli.picture import drawing_options, show_graph
from pflow.cli.run_report import run_watched, show_outcome
from pflow.core.errors import DocumentError, NotFoundError, UsageError
from pflow.core.interface import Interface
from pflow.core.library.workflow_manager import PATH_SUFFIXES
from pflow.core.printable import escape
from pflow.pipeline.pipeline import CONNECTOR, Pipeline, is_pipeline, parse_pipeline

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OPTIONS = {"json": False, "dry-run": False, "no-cache": False, "mermaid": False, "svg": True}
"""Flags of pflow itself, which count where the node has no such flag, and whether they take a value."""


class _Words(click.Command):
    """Takes every word behind its own options as it is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        ctx.ignore_unknown_options = True
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Flags belong to the node that is being written, not to this command."""
        return complete_pipeline(ctx, incomplete)


@click.command("pipeline", cls=_Words, add_help_option=False)
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=lambda ctx, param, incomplete: complete_pipeline(ctx, incomplete),
)
@click.option("--no-cache", is_flag=True)
@click.option("--dry-run", is_flag=True)
@drawing_options
@with_console
@click.pass_context
def pipeline(
    ctx: click.Context,
    console: Console,
    words: tuple[str, ...],
    no_cache: bool,
    dry_run: bool,
    svg: str | None,
    mermaid: bool,
) -> int:
    """Run the nodes that the words name, each after the other."""
    if len(words) == 2 and words[1] in ("-h", "--help") and not is_pipeline(words[:1]):
        from pflow.cli.commands.registry import describe  # lazy: only for help

        ctx.invoke(describe, node=words[0], path="")
        return 0
    is_text = CONNECTOR not in words and is_pipeline(words)
    found = read_pipeline(console, words[0] if is_text else words)
    trailing = _options(ctx, [*(words[1:] if is_text else ()), *found.options])
    dry_run, no_cache = dry_run or trailing["dry_run"], no_cache or trailing["no_cache"]
    svg, mermaid = svg or trailing["svg"], mermaid or trailing["mermaid"]
    if dry_run or svg or mermaid:
        for note in found.notes:
            console.say(f"note: {escape(note)}")
        show_graph(console, check_workflow(console, found.document, "").ready(), svg=svg, mermaid=mermaid)
        return 0
    outcome = run_watched(
        console, lambda workspace: workspace.begin(found.document, found.inputs, text=True, cache=not no_cache)
    )
    return show_outcome(console, outcome)


def starts_pipeline(console: Console, words: list[str]) -> bool:
    """Whether a command line without a command names nodes rather than a workflow."""
    if is_pipeline(words):
        return True
    word = words[0]
    if word == "-" or "/" in word or word.startswith(("~", "{")) or word.endswith(PATH_SUFFIXES):
        return False
    flags = words[1:]
    has_inputs = any("=" in flag and not flag.startswith("-") for flag in flags)
    return not has_inputs and _interface(console, word) is not None


def read_pipeline(console: Console, words: Sequence[str] | str) -> Pipeline:
    """The pipeline that the words mean, fed from stdin where its first node has a place for it."""
    names = [entry.name for entry in console.workspace().node_types()]
    found = parse_pipeline(
        words,
        lambda name: _interface(console, name),
        stdin=(lambda: read_stdin(console, what="input")) if has_stdin() else None,
        names=names,
        options=OPTIONS,
    )
    if found.issues:
        raise DocumentError("the pipeline cannot run", issues=found.issues)
    return found


def _options(ctx: click.Context, words: list[str]) -> dict[str, Any]:
    """pflow's own options behind a pipeline."""
    params = pipeline.make_context("", words, parent=ctx).params
    if params["words"]:
        raise UsageError(
            f"`{params['words'][0]}` stands behind the pipeline",
            suggestions=['flags of a node stand inside the quotes: `pflow "a --flag=value >> b"`'],
        )
    return params


def _interface(console: Console, name: str) -> Interface | None:
    try:
        return console.workspace().node_type(name).interface
    except NotFoundError:
        return None
