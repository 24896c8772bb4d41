"""Expressions: what it costs to parse a condition, and to evaluate a comparison."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from pathlib import Path

from bench.measure import Figures, in_fresh_process
from bench.row import Row
from pflow.core.expression.evaluate import evaluate
from pflow.core.expression.parser import parse

CONDITION = "i.state == 'open' && !has(i.pull_request)"
COMPARISON = "fetch.status_code >= 500"
ITEMS = 1000


def rows() -> list[Row]:
    figures = in_fresh_process(measure)
    return [
        Row(group="expression", what="parsing a condition", us=figures["parse"], unit="s", rule="most", limit=50e-6),
        Row(
            group="expression", what="evaluating a comparison", us=figures["compare"], unit="s", rule="most", limit=3e-6
        ),
        Row(
            group="expression",
            what=f"filtering {ITEMS:,} items by two fields, per item",
            us=figures["filter"],
            unit="s",
            rule="most",
            limit=8e-6,
        ),
    ]


def measure(home: Path) -> Figures:
    """The least of several rounds, each of many."""
    comparison = parse(COMPARISON)
    names: dict[str, object] = {"fetch": {"status_code": 200}, "items": [{"state": "open"}] * ITEMS}
    filtered = parse(f"items.filter(i, {CONDITION})")
    return {
        "parse": least(lambda: parse(CONDITION), 20),
        "compare": least(lambda: evaluate(comparison, names), 200),
        "filter": least(lambda: evaluate(filtered, names), 1) / ITEMS,
    }


def least(work: Callable[[], object], number: int) -> float:
    """Seconds for one time, the best of many rounds, each short enough to be undisturbed on a busy machine."""
    return min(timeit.repeat(work, number=number, repeat=200)) / number
