"""What people read: failures, missing inputs, tables and times as text. Foreign text comes out escaped."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.core.duration import show_span
from pflow.core.errors import InputError
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.workspace import Outcome

_PARAM_CHARACTERS = 200
_MOST_LINES = 20
_HIDDEN = frozenset({"issues", "steps", "run_id", "type", "message", "frames", "source", "errno", "cause", "missing"})
"""Details for programs; the message says the same to people."""


def render_failure(outcome: Outcome) -> str:
    """Which step failed and why, with what it was given, what is done, and how to go on."""
    error = outcome.error or {}
    message = escape(str(error.get("message", "no reason was recorded")))
    resume = f"pflow runs resume {outcome.run_id}"
    if outcome.status == "stopped":
        return "\n".join([f"stopped: {message}", *_completed(outcome), "", f"resume: {resume}"])
    if outcome.status == "cancelled":
        return "\n".join([f"cancelled: {message}", *_completed(outcome)])
    node = outcome.failed_node or error.get("node")
    head = f"error: step `{escape(str(node))}` failed: {message}" if node else f"error: {message}"
    lines = [head, *_params(outcome.params), *show_details(error, outcome.params), *_completed(outcome)]
    hints = error.get("suggestions")
    advice = [f"hint: {escape(str(hint))}" for hint in hints] if isinstance(hints, Sequence) else []
    return "\n".join([*lines, "", *advice, f"resume: {resume}"])


def render_inputs(error: InputError) -> str:
    """What is wrong with the inputs, those in question each on its line, and the command line that would work."""
    problems = error.details.get("problems")
    heads = problems if isinstance(problems, list) else [error.message]
    about = error.details.get("inputs")
    rows = [(escape(name), escape(text)) for name, text in about.items()] if isinstance(about, Mapping) else []
    lines = [*(f"error: {escape(str(head))}" for head in heads), *columns(rows)]
    hints = [f"hint: {escape(hint)}" for hint in error.suggestions]
    return "\n".join([*lines, "", *hints] if hints else lines)


def ago(at: float) -> str:
    """How long ago a moment was."""
    return f"{show_span(time.time() - at)} ago"


def show_ms(ms: float) -> str:
    """How long something took."""
    return f"{ms:.0f} ms" if ms < 1000 else show_seconds(ms / 1000)


def show_spent(tokens: object, cost: object) -> str:
    """What language models took: `1,234 tokens, $0.0012`; nothing if none was asked."""
    if not isinstance(tokens, int):
        return ""
    price = f"{cost:.6f}".rstrip("0") if isinstance(cost, float | int) else ""
    whole, _, cents = price.partition(".")
    return f"{tokens:,} tokens, " + (f"${whole}.{cents:0<2}" if price else "at an unknown price")


def show_seconds(seconds: float) -> str:
    """How long something takes, while it does."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def quote(word: str) -> str:
    """A word as a shell takes it."""
    import shlex  # lazy: only for commands that are shown

    return shlex.quote(word)


def _params(params: object) -> list[str]:
    if not isinstance(params, Mapping) or not params:
        return []
    return ["  params:", *(f"    {line}" for name, value in params.items() for line in show_fact(name, value))]


def show_details(error: Mapping[str, object], params: object = None) -> list[str]:
    """What the error knows beyond its message and the step's parameters."""
    details = error.get("details")
    message = str(error.get("message", ""))
    given = params if isinstance(params, Mapping) else {}
    lines: list[str] = []
    for name, value in details.items() if isinstance(details, Mapping) else ():
        hidden = name in _HIDDEN and not (name == "cause" and isinstance(value, str))
        # The small number of an exit code may stand in a message and mean something else.
        fact = f"code {value}" if name == "exit_code" else str(value)
        told = hidden or value in (None, "", {}) or fact in message or given.get(name) == value
        if isinstance(value, list):
            told = told or all(isinstance(item, str) and item in message for item in value)
        if not told:
            lines += [f"  {line}" for line in show_fact(name, value)]
    return lines


def show_fact(name: object, value: object) -> list[str]:
    """A name and its value: on one line, or as a block when it is text of several, or several sentences."""
    text: Sequence[str] = ()
    if isinstance(value, str) and "\n" in value.strip("\n"):
        text = value.strip("\n").split("\n")
    elif isinstance(value, list) and len(value) > 1 and all(isinstance(item, str) and " " in item for item in value):
        text = value
    if not text:
        return [f"{escape(str(name))}: {_show(value)}"]
    shown = [f"  {shorten(line, _PARAM_CHARACTERS)}" for line in text[-_MOST_LINES:]]
    return [f"{escape(str(name))}:", *(["  …"] if len(text) > _MOST_LINES else []), *shown]


def show_whole(name: object, value: object) -> list[str]:
    """A name and all of its value, however long it is."""
    if isinstance(value, str):
        lines = value.strip("\n").split("\n")
    else:
        import orjson  # lazy: only for what is shown in full

        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        lines = orjson.dumps(value, default=str, option=options).decode().split("\n")
    if len(lines) == 1:
        return [f"{escape(str(name))}: {escape(lines[0])}"]
    return [f"{escape(str(name))}:", *(f"  {escape(line)}" for line in lines)]


def _completed(outcome: Outcome) -> list[str]:
    done = outcome.completed
    names = ", ".join(escape(step) for step in done[-12:])
    if len(done) > 12:
        names = f"{len(done) - 12} steps, {names}"
    return [f"  completed: {names or 'nothing yet'}"]


def _show(value: object) -> str:
    if isinstance(value, str):
        return f'"{shorten(value.rstrip(), _PARAM_CHARACTERS)}"'
    import orjson  # lazy: only for a failure

    return shorten(orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode(), _PARAM_CHARACTERS)
