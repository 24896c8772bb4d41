"""A plan as text for the person who is to agree to it: what it is, does, takes and costs. All of it is escaped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pflow.cli.commands.workflow_add import show_ability
from pflow.cli.console import Console, speaks_unicode
from pflow.core.printable import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pflow.execution.need.ability import Ability
    from pflow.workspace.planning.planned import Authorship, Estimate, Planned


def render_plan(console: Console, planned: Planned) -> str:
    """Everything that a person needs to decide."""
    blocks = [_head(planned), _graph(console, planned), _inputs(planned), _effects(planned.effects), _cost(planned)]
    notes = [f"note: {escape(note)}" for note in planned.notes]
    return "\n\n".join(block for block in [*blocks, "\n".join(notes)] if block)


def render_effects(effects: Iterable[Ability]) -> list[str]:
    """What steps can do, a line or more each."""
    return [f"  {line}" for ability in effects for line in show_ability(ability)]


def render_author(authorship: Authorship) -> str:
    """Who wrote it, and what that took."""
    spent = authorship.spent
    tokens = spent.usage.input + spent.usage.output
    mended = f", mended {authorship.rounds}×" if authorship.rounds else ""
    calls = f"{spent.calls} call{'s' * (spent.calls != 1)}"
    return f"{escape(authorship.model)}, {calls}{mended}, {tokens:,} tokens, {_price(spent.cost)}"


def _head(planned: Planned) -> str:
    if planned.kind == "reused":
        title = f"the saved workflow `{escape(planned.workflow)}` does this"
    else:
        title = "a new workflow" + (f", kept as the draft `{escape(planned.draft)}`" if planned.draft else "")
    return f"{title}\n  {escape(planned.why)}" if planned.why else title


def _graph(console: Console, planned: Planned) -> str:
    if planned.checked is None or planned.checked.plan is None:
        return ""
    from pflow.drawing.text import draw_text  # lazy: only for plans

    stream = console.stdout if console.stdout is not None else sys.stderr
    return console.hide_parts(draw_text(planned.checked.plan, ascii_only=not speaks_unicode(stream)))


def _inputs(planned: Planned) -> str:
    lines = [f"  {escape(name)} = {escape(write_value(value))}" for name, value in planned.inputs.items()]
    lines += [f"  {escape(name)} is missing" for name in planned.missing]
    return "\n".join(["inputs from the task:", *lines]) if lines else ""


def write_value(value: object) -> str:
    """A value as a word of a command line."""
    import orjson  # lazy: help does without

    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _effects(effects: tuple[Ability, ...]) -> str:
    if not effects:
        return "its steps reach nothing outside of the run"
    return "\n".join(["what its steps can do:", *render_effects(effects)])


def _cost(planned: Planned) -> str:
    return f"planned by {render_author(planned.authorship)}\nrunning it: {_estimate(planned.estimate)}"


def _estimate(estimate: Estimate) -> str:
    if not estimate.calls:
        return "no calls to models"
    each = f", {estimate.batches} of them once per item" if estimate.batches else ""
    calls = f"{estimate.calls} call{'s' * (estimate.calls != 1)} to models{each}"
    if estimate.usd is None:
        return f"{calls}; the price is not known"
    return f"{calls}; about {_price(estimate.usd)}, at the price of a call for this plan"


def _price(usd: float | None) -> str:
    return "price not known" if usd is None else f"${usd:.4f}"
