"""The option `--on PLACE` of commands that can read the journal of a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import click

from pflow.cli.completion import complete_place
from pflow.cli.console import Console
from pflow.core.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")


def _name_place(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Console).on = value


def home_only(why: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """An `--on` that says why a command is for one machine only."""

    def refuse(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
        if value is not None:
            command = ctx.command_path.removeprefix("pflow ")
            raise UsageError(f"`{command}` is for one machine: {why}", suggestions=["leave out `--on`"])

    return click.option("--on", metavar="PLACE", hidden=True, expose_value=False, callback=refuse)


def queue_option(help: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--queue NAME`: one of the queues of the place, instead of the one that its settings name."""
    return click.option("--queue", metavar="NAME", help=help)


def read_queue(word: str | None) -> str:
    """The queue that a command line names; "" for none. Raises `UsageError` for one without a name."""
    if word is not None and not word.strip():
        raise UsageError(
            "the name of a queue cannot be empty",
            suggestions=["leave out `--queue` for the queue that the settings name"],
        )
    return word or ""


def place_option(*, required: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--on PLACE`: the place whose journal a command reads, instead of that of the home."""
    return click.option(
        "--on",
        metavar="PLACE",
        required=required,
        expose_value=False,
        callback=_name_place,
        shell_complete=complete_place,
        help="The place whose runs are meant, instead of those of this home.",
    )
