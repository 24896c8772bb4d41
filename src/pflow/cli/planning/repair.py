"""Repairs of failed runs at the command line: offered on a terminal, started by `--repair`, agreed to, gone on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pflow.cli.commands.workflow_text import render_comparison
from pflow.cli.console import Console
from pflow.cli.planning.plan import reporting
from pflow.cli.planning.plan_text import render_author, render_effects
from pflow.cli.run_report import run_watched, show_outcome
from pflow.core.error_text import render_error, render_issues
from pflow.core.errors import PflowError
from pflow.core.printable import escape

if TYPE_CHECKING:
    from pflow.workspace import Outcome
    from pflow.workspace.planning.planned import Repair


def offers_repair(console: Console) -> bool:
    """Whether a person is there, and a model that could mend what failed."""
    return console.can_ask() and console.workspace().can_ask_model()


def repair_run(console: Console, outcome: Outcome, *, asked: bool, yes: bool) -> int:
    """Have a model mend a failed run as long as somebody agrees, and go on with it; the exit code.

    `asked` says that the person wants it already, `yes` that they agree to what comes of it.
    """
    repairs: list[dict[str, object]] = []
    while outcome.status == "failed":
        if not console.json:
            show_outcome(console, outcome)
        if not asked and not click.confirm("have a model mend it?", default=False, err=True):
            return outcome.exit_code
        asked = True
        repair = _propose(console, outcome)
        if repair is None:
            break
        repairs.append(repair.to_json())
        if not _agrees(console, repair, yes=yes):
            break
        text = repair.text
        outcome = run_watched(
            console,
            lambda workspace: workspace.begin_resume(outcome.run_id, edited=text),  # noqa: B023 - called at once
        )
    else:
        if not console.json:
            return show_outcome(console, outcome)
    if console.json:
        console.envelope({**outcome.envelope(), "repairs": repairs})
    return outcome.exit_code


def _propose(console: Console, outcome: Outcome) -> Repair | None:
    """What a model would change; None, with the reason said, if that comes to nothing."""
    try:
        repair = console.workspace().propose_repair(outcome.run_id, report=reporting(console))
    except PflowError as error:
        console.remark("", f"not repaired: {render_error(error).removeprefix('error: ')}")
        return None
    if repair.issues:
        console.remark("", "not repaired: the model wrote no valid workflow", render_issues(repair.issues))
        return None
    if not repair.has_changes:
        console.remark("", f"not repaired: the model changed nothing. It says: {escape(repair.why)}")
        return None
    return repair


def _agrees(console: Console, repair: Repair, *, yes: bool) -> bool:
    """Whether somebody agrees to a repair, which is shown."""
    console.remark("", *_render(repair))
    later = f"go on with it: pflow runs resume {repair.run_id} --with {repair.draft}"
    if yes and not repair.unseen:
        return True
    if yes:
        console.remark("", "not run: a model wrote commands or code, and nobody has looked at them", later)
        return False
    if console.can_ask() and click.confirm("go on with it?", default=False, err=True):
        return True
    console.remark("", f"nobody agreed, so nothing ran; {later}")
    return False


def _render(repair: Repair) -> list[str]:
    lines = [f"a model would mend step `{escape(repair.step)}`: {escape(repair.why)}", ""]
    lines += [f"  {line}" for line in render_comparison(repair.comparison)]
    if repair.gained:
        lines += ["", "what its steps can do now, and could not before:", *render_effects(repair.gained)]
    return [*lines, "", f"by {render_author(repair.authorship)}"]
