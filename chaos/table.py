"""What came of each kind of fault, as a table, and what of it must not be."""

from __future__ import annotations

from collections.abc import Sequence

from chaos.chapter import Chapter

HEAD = (
    *("fault", "faults", "runs hit", "runs", "effects", "lost", "repeated", "unasked", "wrong", "asked", "pure rerun"),
    "kill → next step, leases: median / max",
)


def table(chapters: Sequence[Chapter]) -> str:
    """In the form that documents have."""
    rows = [HEAD, ("---", *("---:" for _ in HEAD[1:])), *(_row(one) for one in chapters)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(one: Chapter) -> tuple[str, ...]:
    found = one.verdict
    faults = str(one.faults) if one.faults == one.planned else f"{one.faults} of {one.planned}"
    counts = (one.hit, found.runs, found.effects, *map(len, (found.lost, found.repeated, found.unasked, found.wrong)))
    speed = "–" if one.median is None else f"{one.median:.1f} / {max(one.recoveries):.1f}"
    return one.kind, faults, *map(str, counts), str(one.asked), str(found.pure), speed


def findings(chapters: Sequence[Chapter]) -> list[str]:
    """All that must not be, one line each; nothing if all is well."""
    return [
        line
        for one in chapters
        for what, ones in (
            ("lost", one.verdict.lost),
            ("repeated after a later step", one.verdict.repeated),
            ("repeated unasked", one.verdict.unasked),
            ("ran though it should not", one.verdict.wrong),
            ("not done in the time there was", [f"{one.planned - one.faults}"] if one.faults < one.planned else ()),
        )
        for line in (f"{one.kind}: {what}: {found}" for found in ones)
    ]
