"""`pflow completion SHELL`."""

from __future__ import annotations

import click

from pflow.cli.command_group import with_console
from pflow.cli.console import Console
from pflow.cli.shell import SCRIPTS


@click.command(short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@with_console
def completion(console: Console, shell: str) -> None:
    """Print the script that makes SHELL complete pflow's words.

    \b
    bash: add to ~/.bashrc:  eval "$(pflow completion bash)"
    zsh:  add to ~/.zshrc:   eval "$(pflow completion zsh)"
    fish: pflow completion fish > ~/.config/fish/completions/pflow.fish
    """
    script = SCRIPTS[shell]
    console.reply({"shell": shell, "script": script}, script)
