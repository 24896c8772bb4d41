"""`pflow ui`: runs and workflows in a browser."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from pflow.cli.command_group import with_console
from pflow.cli.completion import complete_run
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.core.file.home import find_home

if TYPE_CHECKING:
    from pflow.workspace import Workspace


@click.command(short_help="See runs and workflows in a browser.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--port", type=click.IntRange(0, 65535), help="Where to serve it; 0 takes any port that is free.")
@place_option()
@click.option("--no-open", is_flag=True, help="Only print the link.")
@with_console
def ui(console: Console, run: str | None, port: int | None, no_open: bool) -> int:
    """Serve a page with all runs, or with RUN, to browsers on this machine, and open it.

    The link holds a token; without it nobody gets in. If the page is served already, that one is opened. With --on, it
    shows the runs of a place.
    """
    # lazy: they import starlette and uvicorn
    from pflow.web.serve import Place, bind, find_served, path_of, run_page, served_file

    path = path_of(console.workspace().find_run(run) if run else "")
    if console.on:
        console.workspace().viewing.version()  # a place that is not there is named before anything is served
    home = find_home()

    def show(place: Place) -> None:
        link = place.link(path)
        console.reply({"url": link}, link)
        if not no_open:
            _open(link)

    served = find_served(home, console.on)
    if served is not None:
        console.remark("the page is served already")
        show(served)
        return 0
    bound = bind(port)

    def open_workspace() -> Workspace:
        from pflow.core.project.search import current_directory  # lazy: the page is served sooner without it
        from pflow.workspace import Workspace

        project = current_directory()
        return Workspace.open(project=project, on=console.on) if console.on else Workspace.open(project=project)

    def ready(place: Place) -> None:
        show(place)
        console.remark("press Ctrl-C to end")
        sys.stdout.flush()

    code = run_page(served_file(home, console.on), open_workspace, bound, ready)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # an action that hangs in a thread must not keep the process


def _open(link: str) -> None:
    import webbrowser  # lazy: only where a page is opened

    webbrowser.open(link)
