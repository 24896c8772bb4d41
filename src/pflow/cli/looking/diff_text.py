"""Two runs beside each other, as text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import orjson

from pflow.cli.looking.colour import paint, paint_cell, paint_status
from pflow.cli.text import ago, show_ms
from pflow.core.document.position import show_path
from pflow.core.json_type import JsonView
from pflow.core.printable import columns, escape, shorten

if TYPE_CHECKING:
    from pflow.core.document.difference import Change
    from pflow.workspace.looking.comparison import Comparison, Differences

_SHOWN_CHANGES = 20
"""Differences of one value that are shown; `--json` lists more."""

_WIDTH = 100


def render_comparison(compared: Comparison) -> str:
    """How the runs compare: what they are, each step, and every value that differs."""
    lines = [_run("A", compared.a), _run("B", compared.b)]
    if compared.delta_ms is not None:
        lines.append(f"B took {_longer(compared.delta_ms)}")
    for name in ("document", "inputs"):
        lines += part_lines(name, getattr(compared, name))
    rows = [(escape(step.step), step.outcome, _times(step.a, step.b), _delta(step.delta_ms)) for step in compared.steps]
    if rows:
        table = zip(columns(rows), rows, strict=True)
        lines += ["", "steps", *(paint_cell(line, 2 + len(row[0]), row[1]) for line, row in table)]
    for step in compared.steps:
        lines += part_lines(escape(step.step), step.differences)
    lines += part_lines("outputs", compared.outputs) + part_lines("error", compared.error)
    return "\n".join([*lines, "", _verdict(compared)])


def _run(side: str, about: JsonView) -> str:
    started, took = about.get("started_at"), about.get("duration_ms")
    parts = [paint_status(str(about.get("status"))), show_ms(took) if isinstance(took, float | int) else ""]
    parts.append(f"started {ago(started)}" if isinstance(started, float) else "")
    return (
        f"{side}  {about.get('run_id')}  {escape(str(about.get('workflow') or ''))}, {', '.join(filter(None, parts))}"
    )


def part_lines(name: str, found: Differences) -> list[str]:
    """The differences of one value under its name; nothing if there are none."""
    if not found:
        return []
    lines = ["", name]
    for change in found.changes[:_SHOWN_CHANGES]:
        lines += _change(change)
    left = len(found.changes) - _SHOWN_CHANGES + found.more
    return [*lines, f"  … {left:,} more difference{'s' * (left != 1)}"] if left > 0 else lines


def _change(change: Change) -> list[str]:
    if change.before is None and change.after is None:  # its name is all that there is of it
        return [
            f"  {paint('+', 'green') if change.kind == 'added' else paint('-', 'red')} {escape(show_path(change.path))}"
        ]
    lines = [f"  {escape(show_path(change.path))}"]
    if change.kind != "added":
        lines.append(f"    {paint('-', 'red')} {_value(change.before)}")
    if change.kind != "removed":
        lines.append(f"    {paint('+', 'green')} {_value(change.after)}")
    return lines


def _value(value: object) -> str:
    return shorten(orjson.dumps(value, default=str).decode(), _WIDTH)


def _times(a: JsonView, b: JsonView) -> str:
    shown = [show_ms(ms) if isinstance(ms := side.get("ms"), float | int) else "–" for side in (a, b)]
    return f"{shown[0]} → {shown[1]}" if a and b else ""


def _delta(ms: float | None) -> str:
    return "" if ms is None or abs(ms) < 1 else f"{'+' if ms > 0 else '-'}{show_ms(abs(ms))}"


def _longer(ms: float) -> str:
    return "as long" if abs(ms) < 1 else f"{show_ms(abs(ms))} {'longer' if ms > 0 else 'less'}"


def _verdict(compared: Comparison) -> str:
    if compared.equal:
        return "the runs are equal"
    counted = Counter(step.outcome for step in compared.steps)
    told = ", ".join(f"{count} {paint_status(outcome)}" for outcome, count in counted.items())
    return f"the runs differ; steps: {told}" if told else "the runs differ"
