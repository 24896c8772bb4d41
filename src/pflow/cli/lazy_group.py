"""Groups of commands that are imported when they are used, not when they are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

import click

from pflow.cli.console import Console
from pflow.core.suggest import nearest

SHORTHAND = "pflow.shorthand"
"""Set on a context when a first word that is no command was taken for a workflow."""

F = TypeVar("F", bound=Callable[..., Any])


class LazyGroup(click.Group):
    """A group whose table `name → (module:attribute, help)` says all that listing, help and completion need."""

    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the table."""
        return [*self.lazy, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported."""
        found = self.lazy.get(cmd_name)
        if found is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = found[0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names, or an error that knows what was meant."""
        name = args[0]
        if not ctx.resilient_parsing and name not in self.list_commands(ctx):
            near = nearest(name, self.list_commands(ctx), limit=1)
            hint = f"; did you mean `{near[0]}`?" if near else f"; there are: {', '.join(self.list_commands(ctx))}"
            raise click.UsageError(f"`{ctx.command_path}` has no command `{name}`{hint}", ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table as help."""
        if not self.lazy:
            super().format_commands(ctx, formatter)
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.lazy.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Names and help from the table."""
        if not self.lazy:
            return super().shell_complete(ctx, incomplete)
        from click.shell_completion import CompletionItem  # lazy: only while completing

        items = [
            CompletionItem(name, help=about) for name, (_, about) in self.lazy.items() if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


def _speak_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Console).json = True


def json_option(command: F) -> F:
    """`--json`, at any level of a command line."""
    return click.option(
        "--json", is_flag=True, expose_value=False, callback=_speak_json, help="Print one JSON object."
    )(command)


pass_console = click.make_pass_decorator(Console)
