"""Side by side: branches of one run, and runs of one process."""

from __future__ import annotations

from pathlib import Path

from bench import floor
from bench.flow import Bench, chain
from bench.measure import Figures, in_fresh_process
from bench.row import Row

BRANCHES = 8
RUNS = 100
STEPS = 10


def rows() -> list[Row]:
    side_by_side = in_fresh_process(branches)
    at_once = in_fresh_process(runs)
    return [
        Row(
            group="parallel",
            what="8 parallel branches of 100 ms",
            floor=side_by_side["floor"],
            us=side_by_side["us"],
            unit="s",
            rule="ratio",
            limit=1.15,
            note="floor: bare asyncio; ideal 100 ms",
        ),
        Row(
            group="parallel",
            what="100 runs at once of 10 steps of 10 ms, durable",
            floor=at_once["floor"],
            us=at_once["us"],
            unit="s",
            rule="ratio",
            limit=1.8,
            note="floor: bare asyncio",
        ),
    ]


def branches(home: Path) -> Figures:
    """Eight waits between a start and a join."""
    bench = Bench(home)
    names = [f"branch{index}" for index in range(BRANCHES)]
    document = {
        "nodes": [
            {"id": "start", "type": "nothing"},
            *({"id": name, "type": "wait", "params": {"seconds": 0.1}} for name in names),
            {"id": "join", "type": "nothing"},
        ],
        "edges": [
            *({"from": "start", "to": name} for name in names),
            *({"from": name, "to": "join"} for name in names),
        ],
    }
    plan = bench.plan(document)
    return {"us": bench.cost(plan).wall, "floor": floor.waits_seconds(BRANCHES, 0.1, BRANCHES)}


def runs(home: Path) -> Figures:
    """A hundred runs on one event loop and one journal."""
    bench = Bench(home)
    plan = bench.plan(chain("wait", STEPS, {"seconds": 0.01}))
    bench.cost(plan)
    return {"us": bench.cost(plan, runs=RUNS).wall, "floor": floor.waits_seconds(RUNS * STEPS, 0.01, RUNS)}
