"""Groups of commands, and what the commands have in common: the console and `--json`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

import click

from pflow.cli.console import Console
from pflow.core.suggest import did_you_mean

SHORTHAND = "pflow.shorthand"
"""Set on a context when the first word is not a command and was taken for a workflow."""

P = ParamSpec("P")
R = TypeVar("R")


class CommandGroup(click.Group):
    """A group that knows what a mistyped command was meant to be."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names."""
        name = args[0]
        if not ctx.resilient_parsing and name not in self.list_commands(ctx):
            names = self.list_commands(ctx)
            hint = did_you_mean(name, names) or f"there are: {', '.join(names)}"
            raise click.UsageError(f"`{ctx.command_path}` has no command `{name}`; {hint}", ctx=ctx)
        return super().resolve_command(ctx, args)


def _speak_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Console).json = True


json_option = click.option(
    "--json", is_flag=True, expose_value=False, callback=_speak_json, help="Print one JSON object."
)
"""At any level of a command line."""


pass_console = click.make_pass_decorator(Console)


def with_console(command: Callable[Concatenate[Console, P], R]) -> Callable[P, R]:
    """Pass the console to a command that takes `--json`."""
    return json_option(pass_console(command))
