"""`pflow worker`."""

from __future__ import annotations

import os
import sys

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.cli.place.option import place_option, queue_option, read_queue

_SLOTS = 50


@click.command(short_help="Drive the runs of a place.")
@place_option(required=True)
@queue_option("Take runs from this queue of the place.")
@click.option("--slots", metavar="N", type=click.IntRange(1), default=_SLOTS, show_default=True, help="Runs at once.")
@with_console
def worker(console: Console, queue: str | None, slots: int) -> int:
    """Drive the runs of PLACE, beside any number of other workers.

    Servers, secrets and node types of this home are what its runs have. SIGTERM ends the worker when the steps that are
    running are finished; other workers go on with their runs.
    """
    from pflow.workspace.driving.worker import run_worker  # lazy: an event loop, and the client of Temporal

    home = console.workspace().home
    code = run_worker(home, console.on, queue=read_queue(queue), slots=slots, say=console.say)
    sys.stderr.flush()
    os._exit(code)  # a step that hangs in a thread must not keep the process
