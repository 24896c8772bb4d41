"""Batches: many items that wait, and many that do nothing."""

from __future__ import annotations

from pathlib import Path

from bench import floor
from bench.flow import Bench
from bench.measure import Figures, in_fresh_process
from bench.row import Row

WAITING = 1_000
TRIVIAL = 10_000


def rows() -> list[Row]:
    waits = in_fresh_process(waiting)
    items = in_fresh_process(trivial, pick=max)
    return [
        Row(
            group="batch",
            what="1,000 items of 10 ms, 100 at a time",
            floor=waits["floor"],
            us=waits["us"],
            unit="s",
            rule="ratio",
            limit=1.4,
            note="floor: bare asyncio; ideal 100 ms",
        ),
        Row(
            group="batch",
            what="10,000 trivial items, durable",
            floor=items["floor"],
            us=items["us"],
            unit="items/s",
            rule="least ratio",
            limit=0.06,
            note="floor: SQLite, 100 at a time",
        ),
    ]


def waiting(home: Path) -> Figures:
    """A thousand waits."""
    bench = Bench(home)
    plan = bench.plan(batch_of("wait", WAITING, {"seconds": 0.01}))
    bench.cost(bench.plan(batch_of("wait", 100, {"seconds": 0.0})))
    return {"us": bench.cost(plan).wall, "floor": floor.waits_seconds(WAITING, 0.01, 100)}


def trivial(home: Path) -> Figures:
    """Ten thousand times nothing."""
    bench = Bench(home)
    plan = bench.plan(batch_of("nothing", TRIVIAL, {}))
    return {"us": TRIVIAL / bench.cost(plan).wall, "floor": floor.items_per_second(home / "floor.db")}


def batch_of(kind: str, count: int, params: dict[str, object]) -> dict[str, object]:
    """A document of one batch, a hundred at a time."""
    batch = {"items": list(range(count)), "concurrency": 100}
    return {"nodes": [{"id": "each", "type": kind, "params": params, "batch": batch}]}
