"""`pflow workers`."""

from __future__ import annotations

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.cli.text import ago, show_seconds
from pflow.core.printable import columns, escape

_HEAD = ("WORKER", "QUEUE", "SLOTS", "PFLOW", "REGISTRY", "SINCE", "HEARD OF")


@click.command(short_help="Show the workers of a place.")
@place_option(required=True)
@with_console
def workers(console: Console) -> None:
    """Who works at PLACE: since when, which runs they take, and which node types they have.

    REGISTRY stands for all node types and tools of a worker; `=` marks those that are exactly what this home has.
    """
    found = console.workspace().place_workers.list()
    if not found:
        console.remark(f"nobody works at {escape(console.on)}; `pflow worker --on {escape(console.on)}` would")
    rows = [
        (
            escape(one.name),
            escape(one.queue),
            str(one.slots),
            escape(one.version),
            f"{escape(one.registry)}{' =' if one.as_here else ''}",
            ago(one.started_at),
            f"{show_seconds(one.beat_seconds)} ago" + (", gone" if one.is_gone else ""),
        )
        for one in found
    ]
    table = columns([_HEAD, *rows], indent="") if rows else []
    console.reply({"workers": [one.as_dict() for one in found]}, "\n".join(table))
