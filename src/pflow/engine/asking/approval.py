"""Asks before a step, or an item of a batch, takes effect, and binds the answer to what would be done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pflow.core.errors import DeclinedError, StepTimeout
from pflow.core.event import StepAnswered
from pflow.engine.asking.form import NO, YES
from pflow.engine.asking.parking import Seat
from pflow.engine.asking.question import Question, show_place
from pflow.engine.failure import shown_params
from pflow.engine.value import digest_all

if TYPE_CHECKING:
    from pflow.core.template.compiled import Lookup
    from pflow.engine.plan import PlanNode
    from pflow.engine.run import Run

_FORM = {"approve": True, "choices": [YES, NO]}


async def ask_approval(
    run: Run, node: PlanNode, step: str, params: Mapping[str, Any], lookup: Lookup, seat: Seat
) -> None:
    """Wait until somebody agrees; raises `DeclinedError`, and `StepTimeout` if nobody does in time."""
    approve = node.approve
    assert approve is not None
    prompt = approve.prompt.render(lookup) if approve.prompt is not None else f"Run `{node.id}` ({node.type})?"
    shown = shown_params(params)
    question = Question(
        kind="question",
        prompt=clean_prompt(str(prompt)),
        show={"params": shown},
        form=_FORM,
        seconds=approve.timeout,
        bound=digest_all([node.definition.encode(), run.values.key(dict(shown))]),
    )
    check_approval(await run.expect_waits().wait(step, question, seat), node)


def check_approval(answered: StepAnswered, node: PlanNode) -> None:
    """Raise what a step fails with that was not approved."""
    name = show_place(answered.step, answered.item)
    if answered.outcome == "timed_out":
        raise StepTimeout(f"nobody approved `{name}` ({node.type}) in time")
    if answered.outcome == "declined" or answered.answer.get("choice") != YES:
        by = f" by {answered.by}" if answered.by else ""
        raise DeclinedError(f"`{name}` ({node.type}) was not approved: it was declined{by}")


LONGEST_PROMPT = 4096
"""Characters."""


def clean_prompt(text: str, most: int = LONGEST_PROMPT) -> str:
    """A prompt as it may be shown anywhere: no control characters, and not too long."""
    kept = "".join(one for one in text if one == "\n" or one == "\t" or one.isprintable())
    return kept if len(kept) <= most else f"{kept[: most - 1]}…"
