"""What runs wait for, as text: each question with what it shows, until when it can be answered, and the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pflow.cli.text import quote, show_fact
from pflow.core.moment import show_moment
from pflow.core.printable import escape, shorten

if TYPE_CHECKING:
    from pflow.workspace.asking.question import Waiting

_MOST_OF_A_STEP = 3
"""Items of one step that are shown; of more, the first stands for all."""

_MOST_SHOWN = 20


def render_waits(waits: Sequence[Waiting], *, stays: bool = False) -> list[str]:
    """Everything that a run waits for, each with how to end the wait; of many items of a step, the first.

    While a process `stays` for what comes by itself, the run need not be taken up.
    """
    questions = sum(one.kind == "question" for one in waits)
    by_step: dict[str, list[Waiting]] = {}
    for one in waits:
        by_step.setdefault(one.step, []).append(one)
    lines: list[str] = []
    for step, group in list(by_step.items())[:_MOST_SHOWN]:
        shown = group if len(group) <= _MOST_OF_A_STEP else group[:1]
        for one in shown:
            lines += _render_wait(one, alone=questions == 1, stays=stays)
        if len(shown) < len(group):
            command = f"pflow answer {group[0].run_id} {quote(step)} --all {_words(group[0])}".rstrip()
            lines.append(f"  and {len(group) - 1:,} more items of `{escape(step)}`; all of them: {command}")
    left = len(by_step) - _MOST_SHOWN
    return [*lines, f"and {left:,} more steps"] if left > 0 else lines


def _render_wait(one: Waiting, *, alone: bool, stays: bool) -> list[str]:
    """One thing that a run waits for; `alone` says that it is the only question of its run."""
    lines = [f"waiting: `{escape(one.place)}` {escape(one.phrase)}"]
    lines += [f"  {line}" for line in [*about_question(one), *about_deadline(one)]]
    if stays and one.kind in ("timer", "check"):
        return lines
    others = f"   (or {', '.join(escape(choice) for choice in one.choices[1:])})" if len(one.choices) > 1 else ""
    return [*lines, f"  {command_for(one, alone=alone)}{others}"]


def about_question(one: Waiting) -> list[str]:
    """What is shown beside a question, and what can be answered, in short."""
    lines = [line for name, value in shown_values(one).items() for line in show_fact(name, value)]
    if one.choices:
        lines.append(f"choices: {', '.join(escape(choice) for choice in one.choices)}")
    if one.schema is not None and one.schema.get("type") != "string":
        lines += show_fact("answer", one.schema)
    return [*lines, *(f"{escape(name)}: {describe_field(schema)}" for name, schema in one.fields.items())]


def shown_values(one: Waiting) -> Mapping[str, object]:
    """The values beside a question; of an approval, the params of the step themselves."""
    params = one.show.get("params")
    return params if one.approves and isinstance(params, Mapping) else one.show


def describe_field(schema: Mapping[str, object]) -> str:
    """What a field takes: `integer`, `string, by default "x"`, `string: post or wait; where to go`."""
    from pflow.workspace.asking.question import is_optional, options_of  # lazy: few questions have fields

    kind = str(schema.get("type", "string"))
    options = " or ".join(escape(str(option)) for option in options_of(schema))
    parts = [f"{kind}: {options}" if options else kind]
    if schema.get("default") is not None:
        parts.append(show_fact("by default", schema["default"])[0].replace(":", "", 1))
    elif is_optional(schema):
        parts.append("optional")
    about = schema.get("description") or schema.get("title")
    return ", ".join(parts) + (f"; {shorten(str(about), 200)}" if about else "")


def about_deadline(one: Waiting) -> list[str]:
    """Until when something is waited for, and what happens then."""
    if one.deadline is None or one.kind == "timer":
        return []
    then = f"`{escape(one.default)}` counts" if one.default else "it ends with `timeout`"
    return [f"until {show_moment(one.deadline)}, then {then}"]


def command_for(one: Waiting, *, alone: bool) -> str:
    """What a person types to end a wait, or to take the run up when what it waits for has come by itself."""
    if one.kind == "question":
        step = "" if alone else f" {quote(one.place)}"
        return f"pflow answer {one.run_id}{step} {_words(one)}".rstrip()
    if one.kind == "message":
        return f"pflow send {one.run_id} {quote(one.message)} key=value"
    return f"pflow runs resume {one.run_id}"


def _words(one: Waiting) -> str:
    """An answer as words of a command line: the first choice, and the fields that cannot be left out."""
    from pflow.workspace.asking.question import is_optional  # lazy: few runs ask

    if one.schema is not None:
        names = one.schema.get("required") if one.schema.get("type") == "object" else None
        return " ".join(f"{quote(str(name))}=…" for name in names) if isinstance(names, list) and names else "'…'"
    fields = [f"{quote(name)}=…" for name, schema in one.fields.items() if not is_optional(schema)]
    return " ".join([*(quote(choice) for choice in one.choices[:1]), *fields])
