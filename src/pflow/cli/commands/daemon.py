"""`pflow daemon`."""

from __future__ import annotations

import os
import sys

import click

from pflow.cli.command_group import pass_console
from pflow.cli.console import Console
from pflow.cli.place.option import home_only


@click.command(short_help="Drive runs that wait, as soon as they are due.")
@click.option("--once", is_flag=True, help="Drive what is due now, then end.")
@home_only("runs of a place are driven by its workers, which `pflow worker` starts")
@pass_console
def daemon(console: Console, once: bool) -> int:
    """Drive the runs of this home whenever they are due: detached ones, and those that waited.

    There is one daemon for a home. SIGTERM ends it when the steps that are running are finished; the next daemon goes
    on with their runs.
    """
    from pflow.workspace.driving.daemon import run_daemon  # lazy: an event loop, and what drives runs

    code = run_daemon(console.workspace().home, say=console.say, once=once)
    sys.stderr.flush()
    os._exit(code)  # a step that hangs in a thread must not keep the process
