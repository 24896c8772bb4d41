"""Steps: what the engine adds to a step that does nothing."""

from __future__ import annotations

from pathlib import Path

from bench import floor
from bench.flow import Bench, Cost, chain
from bench.measure import Figures, in_fresh_process
from bench.row import Row
from pflow.testing import MemoryJournal

MANY = 1000
FEW = 10


def rows() -> list[Row]:
    memory = in_fresh_process(in_memory)
    durable = in_fresh_process(on_disk)
    threaded = in_fresh_process(in_a_thread)
    return [
        Row(
            group="step",
            what="a no-op step, AsyncNode, in memory",
            floor=memory["floor"],
            us=memory["us"],
            unit="s",
            rule="ratio",
            limit=10,
            note="floor: PocketFlow's own flow",
        ),
        Row(
            group="step",
            what="a no-op step, AsyncNode, durable",
            floor=durable["floor"],
            us=durable["us"],
            unit="s",
            rule="ratio",
            limit=3.2,
            note="floor: that and one SQLite commit",
        ),
        Row(
            group="step",
            what="a no-op step, Node in a thread, durable, CPU",
            floor=threaded["floor"],
            us=threaded["us"],
            unit="s",
            rule="ratio",
            limit=1.4,
            note="floor: to a thread and back, and one SQLite commit",
        ),
        Row(
            group="step",
            what="steps of a run of 1,000 beside those of a run of 100",
            floor=durable["early"],
            us=durable["late"],
            unit="s",
            rule="ratio",
            limit=1.25,
            note="floor: each of the first 100",
        ),
    ]


def in_memory(home: Path) -> Figures:
    """The engine alone."""
    bench = Bench(home, MemoryJournal())
    few, many = costs(bench, "nothing", FEW), costs(bench, "nothing", MANY)
    return {"floor": floor.bare_step_seconds(), "us": (many.wall - few.wall) / (MANY - FEW)}


def on_disk(home: Path) -> Figures:
    """The engine with the journal that people have."""
    bench = Bench(home)
    few, some, many = (costs(bench, "nothing", count) for count in (FEW, 100, MANY))
    least = floor.bare_step_seconds() + floor.commit_seconds(home / "floor.db")
    return {
        "floor": least,
        "us": (many.wall - few.wall) / (MANY - FEW),
        "early": (some.cpu - few.cpu) / (100 - FEW),
        "late": (many.cpu - some.cpu) / (MANY - 100),
    }


def in_a_thread(home: Path) -> Figures:
    """The same for a node that blocks."""
    bench = Bench(home)
    few, many = costs(bench, "blocking-nothing", FEW), costs(bench, "blocking-nothing", MANY)
    least = floor.thread_hop_cpu_seconds() + floor.commit_seconds(home / "floor.db")
    return {"floor": least, "us": (many.cpu - few.cpu) / (MANY - FEW)}


def costs(bench: Bench, kind: str, count: int) -> Cost:
    """The least that a chain of so many steps cost."""
    plan = bench.plan(chain(kind, count))
    tries = [bench.cost(plan) for _ in range(5)]
    return Cost(min(cost.wall for cost in tries), min(cost.cpu for cost in tries))
