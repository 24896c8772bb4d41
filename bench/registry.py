"""The registry: what it costs to load two thousand tools."""

from __future__ import annotations

import time
from pathlib import Path

import orjson

from bench.measure import Figures, in_fresh_process
from bench.row import Row
from bench.tools import COUNT, fill_registry
from pflow.registry.registry import Registry


def rows() -> list[Row]:
    figures = in_fresh_process(load)
    return [
        Row(
            group="registry",
            what=f"loading a registry of {COUNT:,} tools",
            floor=figures["floor"],
            us=figures["us"],
            unit="s",
            rule="ratio",
            limit=1.2,
            note="floor: parse its JSON",
        )
    ]


def load(home: Path) -> Figures:
    """Load the registry, and parse the same file, in turns."""
    place = fill_registry(home)
    floors, ours = [], []
    for _ in range(10):
        began = time.perf_counter()
        orjson.loads(place.registry.read_bytes())
        floors.append(time.perf_counter() - began)
        began = time.perf_counter()
        registry = Registry.load(place)
        ours.append(time.perf_counter() - began)
        assert len(registry) >= COUNT
    return {"floor": min(floors), "us": min(ours)}
