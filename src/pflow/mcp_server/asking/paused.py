"""What an agent reads of a run that waits: what it is asked, how its user answers, and how it can answer itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from hashlib import sha256

import orjson

from pflow.core.advice import Advice
from pflow.core.moment import show_moment
from pflow.core.printable import escape, shorten
from pflow.workspace.asking.question import Waiting

_MOST_QUESTIONS = 5
_PROMPT_CHARACTERS = 500
_PROMPTS_CHARACTERS = 100_000
"""Of prompts that the agent answers; the first one stands there however long it is."""

_MARK_DIGITS = 8
_TEXT = {"type": "string"}


def waiting_lines(waits: Iterable[Waiting], *, most: int = _MOST_QUESTIONS) -> list[str]:
    """What a run waits for, a line each."""
    found = list(waits)
    lines: list[str] = []
    room = _PROMPTS_CHARACTERS
    for index, one in enumerate(found[:most]):
        if one.schema is not None and index and len(one.prompt) > room:
            most = index
            break
        if one.schema is not None:
            room -= len(one.prompt)
            lines += _prompt_lines(one, one.schema)
        else:
            lines.append(_line(one))
    return [*lines, f"… and {len(found) - most:,} more"] if len(found) > most else lines


def _prompt_lines(one: Waiting, schema: Mapping[str, object]) -> list[str]:
    """A prompt that the agent is to answer itself, whole. What stands in it is not for its host or its user."""
    place = escape(one.place)
    mark = sha256(one.key.encode()).hexdigest()[:_MARK_DIGITS]  # what stands in the prompt cannot know it
    shown = [f"{name}: {value}" for name, value in one.show.items()]
    kind = "with text" if schema == _TEXT else f"with JSON that fits this schema: {orjson.dumps(schema).decode()}"
    return [
        f"`{place}` asks you to answer this prompt, as a language model would, {kind}",
        f"--- prompt {mark} ---",
        *shown,
        one.prompt,
        f"--- end {mark} ---",
    ]


def advice_lines(waits: Iterable[Waiting], *, answers: bool) -> list[str]:
    """How to go on: a sentence for the user, and, where the tool takes `answers`, one for the agent."""
    found = list(waits)
    questions = [one for one in found if one.kind == "question"]
    lines: list[str] = []
    for_users = [one for one in questions if one.who != "agent" or not answers]
    if for_users:
        lines.append(_for_user(for_users[0], is_only=len(for_users) == 1))
    mine = [one for one in questions if one.who != "person"]
    if mine and answers:
        given = {one.place: _example(one) for one in mine[:_MOST_QUESTIONS]}
        call = f"workflow_execute(resume='{mine[0].run_id}', answers={orjson.dumps(given).decode()})"
        these = "this" if len(mine) == 1 else "these"
        verb = "Answer" if all(one.schema is not None for one in mine) else "You may answer"
        lines.append(f"{verb} {these} yourself: {call}")
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
    if one.schema is not None:
        return {"answer": _example_of(one.schema)}
    choice = one.choices[0] if one.choices else None
    if not one.fields:
        return choice
    fields = {name: schema.get("default", f"<{schema.get('type', 'string')}>") for name, schema in one.fields.items()}
    return {**({"choice": choice} if choice else {}), "answer": fields}


def _example_of(schema: Mapping[str, object]) -> object:
    fields = schema.get("properties")
    if not isinstance(fields, Mapping):
        return f"<{schema.get('type', 'value')}>"
    return {name: f"<{field.get('type', 'value')}>" for name, field in fields.items() if isinstance(field, Mapping)}
