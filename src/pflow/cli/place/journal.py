"""`pflow journal …`: where the runs of a place are kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import click

from pflow.cli.command_group import CommandGroup, with_console
from pflow.cli.console import Console
from pflow.cli.place.option import place_option
from pflow.core.duration import read_duration
from pflow.core.errors import UsageError
from pflow.core.printable import escape

_SHOWN = 20
"""Runs that are named one by one."""


@click.group(cls=CommandGroup)
def journal() -> None:
    """Make and fill the journal of a place.

    PLACE is a name of yours; `pflow settings set on.PLACE.journal postgresql://USER@HOST/DATABASE` makes one.
    """


@journal.command()
@place_option(required=True)
@with_console
def migrate(console: Console) -> None:
    """Bring the tables of PLACE up to date. They only grow; nothing that they hold is lost."""
    found = console.workspace().place_journal.migrate()
    now = f"version {found.version}" + (", as before" if found.before == found.version else "")
    console.reply(found.as_dict(), f"{escape(found.place)}: {now}")


@journal.command()
@place_option(required=True)
@with_console
def copy(console: Console) -> int:
    """Copy the runs of this home that are over, and what workflows keep, to PLACE. What is there already stays."""
    found = console.workspace().place_journal.copy()
    words = [f"copied {_count(found.copied)}", f"{len(found.known)} there already"]
    if found.state:
        words.append("with the state of " + ", ".join(escape(name) for name in found.state))
    console.reply(found.as_dict(), "; ".join(words))
    for run_id, reason in islice(found.left.items(), _SHOWN):
        console.remark(f"left: {run_id}, because {reason}")
    if len(found.left) > _SHOWN:
        console.remark(f"… and {len(found.left) - _SHOWN} more")
    return 1 if found.left else 0


@journal.command()
@click.option("--older-than", required=True, metavar="AGE", help="How long ago they have ended, such as 30d.")
@place_option(required=True)
@with_console
def clean(console: Console, older_than: str) -> None:
    """Delete the runs of PLACE that have ended longer ago. Runs that go on or wait stay.

    Workers do this by themselves where `on.PLACE.keep_days` is set.
    """
    seconds = read_duration(older_than)
    if seconds is None:
        raise UsageError(
            f"`{escape(older_than)}` is not a span of time",
            suggestions=["write a number with a unit, such as `12h` or `30d`"],
        )
    gone = console.workspace().place_journal.clean(seconds)
    console.reply({"deleted": gone}, f"deleted {gone} run{'s' * (gone != 1)}")


def _count(runs: Sequence[str]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"
