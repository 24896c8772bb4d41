"""`pflow guide [TOPIC]`."""

from __future__ import annotations

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.workspace.guide import TOPICS, guide_page


@click.command(short_help="How to write workflows, on one page.")
@click.argument("topic", required=False, default="")
@with_console
def guide(console: Console, topic: str) -> None:
    """Print how to write, run and save workflows; with TOPIC, more about one part of it.

    Topics: documents, templates, branching, loops, batches, errors, mcp, running, saving.
    """
    text = guide_page(topic)
    console.reply({"topic": topic or None, "topics": list(TOPICS), "text": text}, text)
