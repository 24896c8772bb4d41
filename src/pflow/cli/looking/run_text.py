"""A run as text: how it went, its steps in a table, its outputs, and what steps were given and gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from pflow.cli.looking.colour import paint, paint_cell, paint_status
from pflow.cli.looking.value_tree import render_named, render_tree
from pflow.cli.text import ago, show_ms, show_spent
from pflow.core.error_text import render_loss
from pflow.core.json_type import JsonView, objects_in
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.workspace.asking.question import Waiting

_SOURCES = {"cache": "from the cache", "reuse": "kept from before", "settled": "settled"}
_OUTPUT_LINES = 40
_VALUE_LINES = 20
_WIDTH = 200
"""How much of the outputs of a run, and of a value of a step, is shown."""

_FEW_ITEMS = 50
_TOLD_MS = 60_000
"""How long a run has waited if that is told beside how long it took."""


def render_run(found: JsonView, waits: Sequence[Waiting], params: Mapping[str, JsonView] | None = None) -> str:
    """The whole run; with `params`, also what each step was given and gave."""
    steps = objects_in(found["steps"])
    lines = [_head(found), f"workflow {escape(str(found.get('workflow') or ''))}", *_origin(found), ""]
    lines += _table([_step_row(step) for step in steps])
    lines += _settled(found)
    lines += _kept_lines(found.get("state"))
    if any("waits" in step for step in steps):
        from pflow.cli.asking.question_text import render_waits  # lazy: only for runs that waited
        from pflow.cli.asking.wait_history import render_answers

        answers, questions = render_answers(steps), render_waits(waits)
        lines += (["", "answers", *answers] if answers else []) + (["", *questions] if questions else [])
    for step in steps if params is not None else ():
        lines += ["", *render_step(step, (params or {}).get(str(step.get("step"))))]
    if outputs := found.get("outputs"):
        lines += ["", "outputs", *render_tree(outputs, indent="  ", most=_OUTPUT_LINES, width=_WIDTH)]
    error = found.get("error")
    if isinstance(error, Mapping):
        lines += ["", f"{paint('error:', 'red')} {escape(str(error.get('message')))}"]
    if found.get("status") in ("failed", "stopped", "interrupted"):
        lines += ["", f"resume: pflow runs resume {found.get('run_id')}"]
    return "\n".join(lines)


def render_step(step: JsonView, params: JsonView | None, items: Mapping[int, JsonView] | None = None) -> list[str]:
    """One step or item: how it went, what it was given, its attempts, its items, and what it gave."""
    name, status, time, about = _step_row(step)
    head = " ".join(filter(None, [paint_status(status), time and f"in {time}", about and f"· {about}"]))
    lines = [f"{name}  {head}"]
    shown = step.get("params") or params
    if isinstance(shown, Mapping) and shown:
        lines += ["  given", *_values(shown)]
    if attempts := objects_in(step.get("attempts")):
        rows = [
            (f"attempt {one.get('attempt')}", _words(one.get("status")), _time(one), _reason(one)) for one in attempts
        ]
        lines += ["  attempts", *_table(rows, indent="    ")]
    if items:
        rows = [(escape(str(one["step"])), _words(one.get("status")), _time(one), _item(one)) for one in items.values()]
        lines += ["  items", *_table(rows[:_FEW_ITEMS], indent="    ")]
        lines += [f"    … {len(rows) - _FEW_ITEMS:,} more items"] if len(rows) > _FEW_ITEMS else []
    outputs = step.get("outputs")
    if isinstance(outputs, Mapping) and outputs:
        left_out = {"results", "errors"} if items else set()
        gave = _values({key: value for key, value in outputs.items() if key not in left_out})
        lines += ["  gave", *gave] if gave else []
    error = step.get("error")
    if isinstance(error, Mapping):
        lines += [f"  {paint('error:', 'red')} {escape(str(error.get('message')))}"]
    return lines


def took(seconds: float | None) -> str:
    """How long processes worked on a run, in a list."""
    return show_ms(seconds * 1000) if seconds is not None else ""


def _values(values: JsonView) -> list[str]:
    return [
        line
        for key, value in values.items()
        for line in render_named(str(key), value, indent="    ", most=_VALUE_LINES, width=_WIDTH)
    ]


def _head(found: JsonView) -> str:
    worked, waited, started = found.get("duration_ms"), found.get("waited_ms"), found.get("started_at")
    parts = [f"{found.get('run_id')}  {paint_status(str(found.get('status')))}"]
    if isinstance(worked, float | int):
        rested = isinstance(waited, float | int) and waited >= _TOLD_MS
        parts.append(f"worked {show_ms(worked)}" if rested else show_ms(worked))
        if rested and isinstance(waited, float | int):
            parts.append(f"waited {show_ms(waited)}")
    if spent := show_spent(found.get("tokens"), found.get("cost")):
        parts.append(spent)
    if isinstance(started, float):
        parts.append(f"started {ago(started)}")
    return ", ".join(parts)


def _table(rows: Sequence[tuple[str, str, str, str]], *, indent: str = "  ") -> list[str]:
    """Rows of a name, a status, a time and something about it, the statuses in colour."""
    return [
        paint_cell(line, len(indent) + len(name), status)
        for line, (name, status, *_) in zip(columns(rows, indent=indent), rows, strict=True)
    ]


def _words(status: object) -> str:
    return str(status or "").replace("_", " ")


def _time(entry: JsonView) -> str:
    ms = entry.get("ms")
    return show_ms(ms) if isinstance(ms, float | int) else ""


def _reason(entry: JsonView) -> str:
    error = entry.get("error")
    if isinstance(error, Mapping):
        return shorten(str(error.get("message")), 80)
    return shorten(str(entry.get("reason") or ""), 80)


def _item(entry: JsonView) -> str:
    about = _reason(entry)
    outputs = entry.get("outputs")
    return about or (shorten(orjson.dumps(outputs, default=str).decode(), 80) if outputs else "")


def _origin(found: Mapping[str, object]) -> list[str]:
    """The run that another one begins with, and from which step on it is its own."""
    origin = found.get("forked_from")
    if not origin:
        return []
    if only := found.get("only"):
        return [f"only step {escape(str(only))}, with the values of {origin}"]
    return [f"forked from {origin} at {escape(str(found.get('forked_at')))}"]


def _settled(found: Mapping[str, object]) -> list[str]:
    """What was said of steps that were in doubt."""
    words = {"done": "it took effect", "rerun": "it is to run again"}
    told = [
        f"settled: {escape(str(one.get('step')))}, {words.get(str(one.get('outcome')), '')}"
        + (f", says {escape(str(one['by']))}" if one.get("by") else "")
        for one in objects_in(found.get("settled"))
    ]
    return ["", *told] if told else []


def _names(sets: Mapping[str, Mapping[str, object]]) -> list[str]:
    return [escape(name) for values in sets.values() for name in values]


def _kept_lines(state: object) -> list[str]:
    """What a run has left behind for the next one."""
    if not isinstance(state, Mapping):
        return []
    if state.get("trial"):
        return ["", "a trial: nothing was kept"]
    kept = state.get("kept")
    rows = [
        (escape(f"{scope}.{name}"), shorten(orjson.dumps(value).decode(), 80))
        for scope, values in (kept.items() if isinstance(kept, Mapping) else ())
        for name, value in values.items()
    ]
    return ["", "kept", *columns(rows)] if rows else []


def _step_row(step: Mapping[str, object]) -> tuple[str, str, str, str]:
    error = step.get("error")
    about = shorten(str(error.get("message")), 80) if isinstance(error, Mapping) else ""
    if step.get("status") == "not_yet":
        about = shorten(str(step.get("reason", "")), 80)
    if "waits" in step:
        from pflow.cli.asking.wait_history import about_open  # lazy: only for runs that waited

        about = about_open(step) or about
    attempt = step.get("attempt")
    if isinstance(attempt, int) and attempt > 1:
        about = f"attempt {attempt}" + (f"; {about}" if about else "")
    if step.get("source") in _SOURCES:
        about = _SOURCES[str(step["source"])]
    sets = step.get("state")
    if isinstance(sets, Mapping) and step.get("status") == "completed":
        about = "; ".join(part for part in (f"sets {', '.join(_names(sets))}", about) if part)
    done = step.get("items_completed")
    if isinstance(done, int) and done:
        all_ = step.get("items")
        of = f" of {all_}" if isinstance(all_, int) and all_ != done else ""
        items = f"{done}{of} item{'s' * (done != 1 or bool(of))} done"
        about = f"{items}; {about}" if about else items
    if isinstance(lost := step.get("items_failed"), int) and step.get("status") == "completed":
        declined = step.get("items_declined")
        told = render_loss(lost, declined if isinstance(declined, int) else 0, step.get("items"))
        about = f"{told}; {about}" if about else told
    if spent := show_spent(step.get("tokens"), step.get("cost")):
        about = f"{spent}; {about}" if about else spent
    if section := step.get("section"):
        about = f"in {section}" + (f": {about}" if about else "")
    return escape(str(step.get("step"))), _words(step.get("status")), _time(step), about
