"""`pflow guide [TOPIC]` and `pflow schema`: what documents are, for readers and for programs."""

from __future__ import annotations

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_from, complete_node
from pflow.cli.console import Console
from pflow.workspace.guide import TOPICS, guide_page


@click.command(short_help="How to write workflows, on one page.")
@click.argument("topic", required=False, default="", shell_complete=complete_from(TOPICS))
@with_console
def guide(console: Console, topic: str) -> None:
    """Print how to write, run and save workflows; with TOPIC, more about one part of it.

    Topics: documents, templates, branching, loops, batches, errors, asking, state, mcp, running, saving.
    """
    text = guide_page(topic)
    console.reply({"topic": topic or None, "topics": list(TOPICS), "text": text}, text)


@click.command(short_help="Print the JSON Schema of documents.")
@click.argument("types", nargs=-1, metavar="[NODE_TYPE]…", shell_complete=complete_node)
@with_console
def schema(console: Console, types: tuple[str, ...]) -> None:
    """Print the JSON Schema of documents with all node types, MCP tools included, or with those named.

    \b
    For an editor, put it into a file and begin your documents with:
    # yaml-language-server: $schema=./pflow-schema.json
    """
    found = console.workspace().schema(types)
    console.reply(found, found)
