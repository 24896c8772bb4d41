"""What came of each kind of fault, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.campaign import Chapter

HEAD = (
    *("fault", "faults", "runs", "effects", "lost", "repeated", "unasked", "wrong", "asked", "pure rerun"),
    "kill → next step, leases: median / max",
)


def table(chapters: Sequence[Chapter]) -> str:
    """In the form that documents have."""
    rows = [HEAD, ("---", *("---:" for _ in HEAD[1:])), *(_row(one) for one in chapters)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Chapter) -> tuple[str, ...]:
    found = one.verdict
    faults = str(one.faults) if one.faults == one.planned else f"{one.faults} of {one.planned}"
    counts = (found.runs, found.effects, *map(len, (found.lost, found.repeated, found.unasked, found.wrong)))
    speed = "–" if one.median is None else f"{one.median:.1f} / {max(one.recoveries):.1f}"
    return one.kind, faults, *map(str, counts), str(one.asked), str(found.pure), speed
