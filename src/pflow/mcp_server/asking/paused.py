"""What an agent reads of a run that waits: what it is asked, how its user answers, and how it can answer itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import orjson

from pflow.core.advice import Advice
from pflow.core.moment import show_moment
from pflow.core.printable import escape, shorten
from pflow.workspace.asking.question import Waiting

_MOST_QUESTIONS = 5
_PROMPT_CHARACTERS = 500


def waiting_lines(waits: Iterable[Waiting], *, most: int = _MOST_QUESTIONS) -> list[str]:
    """What a run waits for, a line each."""
    found = list(waits)
    lines = [_line(one) for one in found[:most]]
    return [*lines, f"… and {len(found) - most:,} more"] if len(found) > most else lines


def advice_lines(waits: Iterable[Waiting], *, answers: bool) -> list[str]:
    """How to go on: a sentence for the user, and, where the tool takes `answers`, one for the agent."""
    found = list(waits)
    questions = [one for one in found if one.kind == "question"]
    lines = []
    for_users = [one for one in questions if one.who != "agent" or not answers]
    if for_users:
        lines.append(_for_user(for_users[0], is_only=len(for_users) == 1))
    mine = [one for one in questions if one.who != "person"]
    if mine and answers:
        given = {one.place: _example(one) for one in mine[:_MOST_QUESTIONS]}
        call = f"workflow_execute(resume='{mine[0].run_id}', answers={orjson.dumps(given).decode()})"
        lines.append(f"You may answer {'this' if len(mine) == 1 else 'these'} yourself: {call}")
    messages = [one for one in found if one.kind == "message"]
    if messages:
        first = messages[0]
        lines.append(Advice("A program or a person sends it: `{send_message}`", run=first.run_id, name=first.message))
    return lines


def _line(one: Waiting) -> str:
    place = f"`{escape(one.place)}`"
    if one.kind == "question":
        known = [*one.choices, *(f"{name}=…" for name in one.fields)]
        until = f", until {show_moment(one.deadline)}" if one.deadline is not None else ""
        return f"{place} asks: {shorten(one.prompt, _PROMPT_CHARACTERS)} ({shorten(', '.join(known), 300)}{until})"
    if one.kind == "message":
        return f"{place} waits for the message `{shorten(one.message)}`"
    until = f" until {show_moment(one.deadline)}" if one.deadline is not None else " for something to happen"
    return f"{place} waits{until}"


def _for_user(one: Waiting, *, is_only: bool) -> str:
    words = {"run": one.run_id, "step": shlex.quote(one.place)}
    said = (
        Advice("`{answer}`", run=words["run"], step=words["step"])
        if one.choices
        else Advice("`{answer_fields}`", run=words["run"], step=words["step"])
    )
    which = "" if is_only else ", and the other questions likewise"
    return f"Tell the user: the run waits for your answer to `{one.place}`; give it in a terminal, with {said}{which}"


def _example(one: Waiting) -> object:
    choice = one.choices[0] if one.choices else None
    if not one.fields:
        return choice
    fields = {name: schema.get("default", f"<{schema.get('type', 'string')}>") for name, schema in one.fields.items()}
    return {**({"choice": choice} if choice else {}), "answer": fields}
