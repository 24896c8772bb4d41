"""`pflow completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pflow.cli.command_group import with_console
from pflow.cli.console import Console

_VARIABLE = "_PFLOW_COMPLETE"

_NO_SPACE = """            COMPREPLY+=($value)
            [[ $value == *= ]] && compopt -o nospace
"""
"""Bash would put a space behind `name=`, where the value belongs."""


@click.command(short_help="Print a completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@with_console
def completion(console: Console, shell: str) -> None:
    """Print the script that makes SHELL complete pflow's words.

    \b
    bash: add to ~/.bashrc:  eval "$(pflow completion bash)"
    zsh:  add to ~/.zshrc:   eval "$(pflow completion zsh)"
    fish: pflow completion fish > ~/.config/fish/completions/pflow.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    maker = found(click.Command("pflow"), {}, "pflow", _VARIABLE)
    script = maker.source_template.replace("            COMPREPLY+=($value)\n", _NO_SPACE) % maker.source_vars()
    console.reply({"shell": shell, "script": script}, script)
