"""What commands that change the files of other programs have in common: showing the change, and asking for it."""

from __future__ import annotations

import os
from pathlib import Path

from pflow.cli.commands.mcp_sync import asking
from pflow.cli.console import Console
from pflow.core.errors import UsageError
from pflow.core.printable import escape


def person_folder() -> Path:
    """The home directory of the person."""
    return Path(os.environ.get("HOME") or Path.home())


def agree_to_change(console: Console, path: Path, text: str, what: str, *, yes: bool) -> bool:
    """Whether the person agrees to a change of a file, which is shown: `what` is done with `text`."""
    where = escape(str(path))
    ask = asking(console, yes)
    if ask is None:
        raise UsageError(
            f"nobody can agree to a change of `{where}`",
            suggestions=["look at it with `--dry-run`, then add `--yes`"],
        )
    if ask(f"{what} `{where}`:\n\n{escape_lines(text)}\n"):
        return True
    console.say("nothing was changed")
    return False


def say_kept(backup: Path | None) -> str:
    """A line that names the copy of what was there before, if there is one."""
    return f"\nwhat it was before is in `{escape(str(backup))}`" if backup else ""


def escape_lines(text: str) -> str:
    """Several lines, escaped."""
    return "\n".join(escape(line) for line in text.split("\n"))
