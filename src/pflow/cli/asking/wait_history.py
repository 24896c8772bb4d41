"""What steps asked and waited for, as the trace of a run tells it: what is open, and who answered what and when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pflow.cli.text import show_seconds
from pflow.core.json_type import objects_in
from pflow.core.moment import show_moment
from pflow.core.printable import columns, escape, shorten
from pflow.core.wait_text import show_wait

_MOST_ANSWERS = 50
_OUTCOMES = {"declined": "declined", "timed_out": "not answered in time"}
_DOORS = {"clock": "", "check": "", "timeout": ""}
"""Doors that nobody came through."""


def about_open(step: Mapping[str, object]) -> str:
    """What a step of a trace waits for, in words; nothing if it does not."""
    if step.get("status") not in ("waiting", "running"):
        return ""
    waiting = step.get("items_waiting")
    if isinstance(waiting, int):
        return f"{waiting:,} item{'s' * (waiting != 1)} waiting"
    found = next((one for one in _waits(step) if "outcome" not in one), None)
    if found is None:
        return ""
    deadline = found.get("deadline")
    return shorten(
        show_wait(
            str(found.get("kind")),
            str(found.get("prompt", "")),
            approves=found.get("approves") is True,
            deadline=deadline if isinstance(deadline, float | int) else None,
        ),
        80,
    )


def render_answers(steps: Sequence[Mapping[str, object]]) -> list[str]:
    """A line for each wait that is over; the newest, if there are many."""
    rows = [row for step in steps for row in _rows(step)]
    left = len(rows) - _MOST_ANSWERS
    lines = columns(rows[-_MOST_ANSWERS:])
    return [f"  … {left:,} more before", *lines] if left > 0 else lines


def _rows(step: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    for one in _waits(step):
        if "outcome" in one:
            item = f"[{one['item']}]" if "item" in one else ""
            yield escape(f"{step.get('step')}{item}"), _how(one), _when(one)


def _how(one: Mapping[str, object]) -> str:
    outcome, choice, kind = str(one.get("outcome")), one.get("choice"), str(one.get("kind"))
    said = _OUTCOMES.get(outcome) or (f"answered `{escape(str(choice))}`" if choice else "answered")
    if kind != "question":
        late = ", in vain" if outcome == "timed_out" else ""
        what = "" if kind == "timer" else f" {shorten(show_wait(kind, str(one.get('prompt', ''))), 60)}"
        said = f"waited{what}{late}"
    by = f" by {escape(str(one['by']))}" if one.get("by") else ""
    via = str(one.get("via", ""))
    return said + by + (f" via {escape(via)}" if _DOORS.get(via, via) else "")


def _when(one: Mapping[str, object]) -> str:
    at, waited = one.get("answered_at"), one.get("waited")
    moment = show_moment(at) if isinstance(at, float | int) else ""
    return f"{moment}, after {show_seconds(waited)}" if isinstance(waited, float | int) else moment


def _waits(step: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    return objects_in(step.get("waits"))
