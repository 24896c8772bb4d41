"""What a step waits for, in words that follow "waiting"."""

from __future__ import annotations

from pflow.core.event import StepAsked
from pflow.core.moment import show_moment
from pflow.core.printable import shorten

_PROMPT_CHARACTERS = 400
"""Of a prompt for a language model, which can be long."""


def show_asked(asked: StepAsked) -> str:
    """What an event says that a step waits for."""
    approves = asked.form.get("approve") is True
    prompt = asked.prompt if "schema" not in asked.form else shorten(asked.prompt, _PROMPT_CHARACTERS)
    return show_wait(asked.kind, prompt, approves=approves, deadline=asked.deadline)


def show_wait(kind: str, prompt: str, *, approves: bool = False, deadline: float | None = None) -> str:
    """`for an answer: Post it?`, `for approval: …`, ``for message `paid` ``, `until 2026-11-18T09:30:00Z`."""
    asked = " ".join(prompt.split())
    if kind == "question":
        return f"for {'approval' if approves else 'an answer'}: {asked}"
    if kind == "timer":
        return "for a moment" if deadline is None else f"until {show_moment(deadline)}"
    return f"for {asked}"
