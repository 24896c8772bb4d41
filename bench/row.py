"""A line of the budgets table, and the table as text and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Rule = Literal["ratio", "least ratio", "most", "least"]
Unit = Literal["s", "B", "items/s", "runs/s", "steps/s", "modules", "packages", "processes", "of the queries", "rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One budget: `us` beside the `floor`, what nobody could do better.

    The `rule` says what `limit` bounds: the ratio of the two or `us`, from above or below; without a limit the figure
    is only shown. `note` names the floor or what failed.
    """

    group: str
    what: str
    us: float
    unit: Unit
    rule: Rule
    limit: float | None
    floor: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times the floor."""
        return self.us / self.floor if self.floor else None

    @property
    def holds(self) -> bool:
        """Whether the budget is kept, if there is one."""
        if self.limit is None:
            return True
        if self.rule in ("ratio", "least ratio"):
            return self.ratio is not None and (
                self.ratio <= self.limit if self.rule == "ratio" else self.ratio >= self.limit
            )
        return self.us <= self.limit if self.rule == "most" else self.us >= self.limit

    @property
    def budget(self) -> str:
        """The budget in words."""
        if self.limit is None:
            return "–"
        if self.rule in ("ratio", "least ratio"):
            return f"{'≤' if self.rule == 'ratio' else '≥'} {self.limit:g} ×"
        return f"{'≤' if self.rule == 'most' else '≥'} {show(self.limit, self.unit)}"

    def as_dict(self) -> dict[str, object]:
        """The row as JSON, numbers in seconds and bytes."""
        return {
            "group": self.group,
            "what": self.what,
            "floor": self.floor,
            "us": self.us,
            "unit": self.unit,
            "ratio": self.ratio,
            "budget": None if self.limit is None else {"rule": self.rule, "limit": self.limit},
            "holds": self.holds,
            "note": self.note,
        }


def show(value: float, unit: Unit) -> str:
    """A number as people read it: `51 µs`, `1.2 MB`, `8,200 items/s`."""
    if unit == "s":
        for factor, name in ((1.0, "s"), (1e-3, "ms")):
            if abs(value) >= factor:
                return f"{value / factor:.3g} {name}"
        return f"{value / 1e-6:.3g} µs"
    if unit == "B":
        for size, name in ((1e6, "MB"), (1e3, "kB")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.0f} B"
    if unit == "of the queries":
        return f"{value:.2f}"
    return f"{value:,.0f} {unit}"


def table(rows: Iterable[Row]) -> str:
    """The rows as aligned text."""
    cells = [("what", "floor", "us", "ratio", "budget", "", "")]
    cells += [
        (
            row.what,
            "–" if row.floor is None else show(row.floor, row.unit),
            show(row.us, row.unit),
            "–" if row.ratio is None else f"{row.ratio:.2f}",
            row.budget,
            "" if row.limit is None else "pass" if row.holds else "FAIL",
            row.note,
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    lines = []
    for index, line in enumerate(cells):
        name, *numbers, verdict, note = line
        padded = [name.ljust(widths[0]), *(n.rjust(w) for n, w in zip(numbers, widths[1:5], strict=True))]
        lines.append("  ".join([*padded, verdict.ljust(widths[5]), note]).rstrip())
        if index == 0:
            lines.append("  ".join("─" * width for width in widths[:6]))
    return "\n".join(lines)
