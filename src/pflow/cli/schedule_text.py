"""Schedules as people read them: tables, moments by the clock of a time zone, and what came of a tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pflow.core.clock import now
from pflow.core.duration import show_span
from pflow.core.printable import columns, escape, shorten
from pflow.core.schedule.schedule import Schedule

if TYPE_CHECKING:
    from pflow.workspace.schedule.report import Last, ScheduleView, TickItem

_NOTE_CHARACTERS = 160


def show_local(schedule: Schedule, at: float) -> str:
    """A moment by the clock of a schedule's time zone."""
    return f"{schedule.local(at):%Y-%m-%d %H:%M}"


def show_next(view: ScheduleView) -> str:
    """When a schedule starts next, and how far off that is."""
    if view.schedule.paused_at is not None:
        return "paused"
    if view.next_at is None:
        return "unknown" if view.problem else "never"
    return f"{show_local(view.schedule, view.next_at)} (in {show_span(view.next_at - now())})"


def render_schedules(views: Sequence[ScheduleView]) -> str:
    """A line for each schedule, with the reason below those that are paused for one."""
    rows = [
        (
            escape(view.schedule.name),
            escape(f"{view.schedule.when} {view.schedule.zone}"),
            escape(view.schedule.workflow),
            show_next(view),
            _show_last(view.last),
        )
        for view in views
    ]
    lines = []
    for view, line in zip(views, columns(rows, indent=""), strict=True):
        lines.append(line)
        if view.problem:
            lines.append(f"  {shorten(view.problem, _NOTE_CHARACTERS)}")
        if view.schedule.reason:
            lines.append(f"  paused: {shorten(view.schedule.reason, _NOTE_CHARACTERS)}")
        elif view.last is not None and view.last.note:
            lines.append(f"  {shorten(view.last.note, _NOTE_CHARACTERS)}")
        if view.queued:
            lines.append(f"  {view.queued} due time{'s' * (view.queued != 1)} queued")
    return "\n".join(lines)


def render_item(item: TickItem, schedules: dict[str, Schedule]) -> str:
    """One thing that a tick dealt with."""
    what = escape(item.schedule) if item.schedule else f"run {item.run_id}"
    known = schedules.get(item.schedule)
    when = f" {show_local(known, item.due)}" if known is not None and item.due is not None else ""
    began = item.run_id and item.schedule and item.state != "refused"
    run = f", run {item.run_id}" if began else ""
    note = f": {escape(item.note)}" if item.note else ""
    return f"{what}{when} {item.state}{run}{note}"


def _show_last(last: Last | None) -> str:
    if last is None:
        return "not run yet"
    return f"{last.state} {show_span(now() - last.due)} ago"
