"""Runs a workflow under a person's eyes and shows how it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pflow.cli.console import Console
from pflow.cli.render import quote, render_failure, show_ms
from pflow.core.errors import InputError
from pflow.core.render import escape

if TYPE_CHECKING:
    from pflow.engine.plan import Plan
    from pflow.execution.outcome import Outcome
    from pflow.workspace import Workspace


def run_watched(console: Console, work: Callable[[Workspace], Outcome]) -> Outcome:
    """Do the work; on a terminal, show how it goes."""
    workspace = console.workspace()
    if console.progress is None:
        return work(workspace)
    with console.progress as progress:
        outcome = work(workspace)
    if progress.shown and outcome.success:
        steps = f"{outcome.steps} step{'s' * (outcome.steps != 1)}"
        console.say(f"{steps} in {show_ms(outcome.duration_ms)}, run {outcome.run_id}")
    return outcome


def show_outcome(console: Console, outcome: Outcome) -> int:
    """Print the outputs, or why there are none; returns the exit code."""
    if console.json:
        console.envelope(outcome.envelope())
        return outcome.exit_code
    for line in _changes(outcome):
        console.say(line)
    if outcome.success:
        console.data(main_output(outcome))
    else:
        console.say(render_failure(outcome))
    return outcome.exit_code


def main_output(outcome: Outcome) -> object:
    """What a person wants to see: the one output there is, the main one, or all of them."""
    outputs = outcome.outputs
    if outcome.primary is not None and outcome.primary in outputs:
        return outputs[outcome.primary]
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    return outputs or None


def explain_inputs(error: InputError, plan: Plan, workflow: str, words: Sequence[str]) -> InputError:
    """The error with every missing input described, and the command line that would work."""
    missing = error.details.get("missing")
    problems = error.details.get("problems")
    if not isinstance(missing, list) or not missing:
        return error
    from pflow.execution.draw import describe_input  # lazy: only for this error

    shown = {
        name: f"{describe_input(plan.inputs[name])}. {plan.inputs[name].description}".rstrip(". ")
        for name in missing
        if name in plan.inputs
    }
    others = [
        str(problem)
        for problem in (problems if isinstance(problems, list) else ())
        if not str(problem).startswith("missing input")
    ]
    count = len(missing)
    message = f"{count} input{'s' * (count > 1)} missing: {', '.join(f'`{name}`' for name in missing)}"
    command = ["pflow", "run", quote(workflow), *(quote(word) for word in words), *(f"{name}=…" for name in missing)]
    return InputError(
        "; ".join([message, *others]),
        details={"missing": list(missing), "inputs": shown},
        suggestions=[*error.suggestions, " ".join(command)],
    )


def _changes(outcome: Outcome) -> list[str]:
    """What an edited document kept and what it ran again."""
    lines = [f"kept: {', '.join(escape(step) for step in outcome.reused)}"] if outcome.reused else []
    return lines + [f"ran: {escape(step)} ({escape(reason)})" for step, reason in outcome.reran]
