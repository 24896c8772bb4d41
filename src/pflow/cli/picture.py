"""Shows a plan's graph the way a command was asked to: as text, as Mermaid, or as a picture in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pflow.cli.completion import complete_file
from pflow.cli.console import Console, speaks_unicode
from pflow.core.errors import StorageError
from pflow.core.json_type import JsonView
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace import Plan

F = TypeVar("F", bound=Callable[..., Any])


def drawing_options(command: F) -> F:
    """`--svg FILE` and `--mermaid`."""
    command = click.option("--mermaid", is_flag=True, help="Print the graph as Mermaid.")(command)
    return click.option(
        "--svg", metavar="FILE", shell_complete=complete_file, help="Write the graph as a picture; `-` prints it."
    )(command)


def show_graph(
    console: Console,
    plan: Plan,
    *,
    svg: str | None,
    mermaid: bool,
    about: str = "",
    valid: bool = True,
    trace: JsonView | None = None,
) -> None:
    """Print the graph, or write it to a file. `about` stands above the graph as text; `valid`: it could run.

    A picture has the colours of the run whose `trace` is given.
    """
    from pflow.drawing.text import draw_mermaid, draw_text  # lazy: most runs draw nothing

    if svg is not None:
        from pflow.drawing.happened import fold_happened  # lazy: only for pictures
        from pflow.drawing.svg import draw_svg

        happened = None if trace is None else fold_happened(plan, trace)
        _write_picture(console, svg, console.hide_parts(draw_svg(plan, happened)))
    elif mermaid:
        text = console.hide_parts(draw_mermaid(plan))
        console.reply({"mermaid": text}, text)
    else:
        text = console.hide_parts(draw_text(plan, ascii_only=not speaks_unicode(console.stdout)))
        console.reply({"valid": valid, "graph": text}, f"{about}\n\n{text}" if about else text)


def _write_picture(console: Console, path: str, picture: str) -> None:
    if path == "-":
        console.reply({"svg": picture}, picture)
        return
    from pathlib import Path  # lazy: only to write a picture

    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"the picture was not written to `{escape(path)}`: {error.strerror}",
            suggestions=["give another file, or `--svg -` to print it"],
        ) from error
    console.reply({"svg_path": path}, None)
    console.remark(f"drawn to {escape(path)}")
