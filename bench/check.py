"""Checking: a long document against a large registry."""

from __future__ import annotations

import json
import time
from pathlib import Path

import orjson

from bench.measure import Figures, in_fresh_process
from bench.row import Row
from bench.tools import COUNT, fill_registry, tool_name
from pflow.workspace.workspace import Workspace

NODES = 100


def rows() -> list[Row]:
    figures = in_fresh_process(check)
    return [
        Row(
            group="check",
            what=f"checking {NODES} nodes with {COUNT:,} tools registered, CPU",
            floor=figures["floor"],
            us=figures["us"],
            unit="s",
            rule="ratio",
            limit=1.4,
            note="floor: parse document and registry",
        )
    ]


def check(home: Path) -> Figures:
    """Check it in a workspace of its own, registry loaded with it, as one command does."""
    place = fill_registry(home)
    path = home / "long.json"
    path.write_text(json.dumps(long_document()))
    floors, ours = [], []
    for _ in range(5):
        began = time.process_time()
        orjson.loads(path.read_bytes())
        orjson.loads(place.registry.read_bytes())
        floors.append(time.process_time() - began)
        with Workspace(place) as workspace:
            began = time.process_time()
            checked = workspace.check(str(path))
            ours.append(time.process_time() - began)
            assert checked.plan is not None, checked.issues
    return {"floor": min(floors), "us": min(ours)}


def long_document() -> dict[str, object]:
    """A hundred different tools, each reading what the one before gave, down into its schema."""
    nodes = [
        {
            "id": f"n{index}",
            "type": tool_name(index * (COUNT // NODES)),
            "params": {
                "query": "${topic}" if index == 0 else f"about ${{n{index - 1}.result.items[0].title}} and ${{topic}}",
                "limit": 5,
            },
        }
        for index in range(NODES)
    ]
    return {"inputs": {"topic": {"type": "string"}}, "nodes": nodes}
