"""Large documents: what each of their steps costs, and whether that stays so when ten times as many run at once."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from bench.flow import chain
from bench.measure import cpu_seconds
from bench.row import Row

FEW, SOME, MANY = 10, 1_000, 10_000
TRIES = 5


def rows() -> list[Row]:
    documents = {"few": chain("echo", FEW), "chain": chain("echo", SOME)}
    documents |= {"start": fan_out(FEW), "some": fan_out(SOME), "many": fan_out(MANY)}
    with tempfile.TemporaryDirectory(prefix="pflow-bench-") as folder:
        home = Path(folder)
        pflow = str(Path(sys.executable).with_name("pflow"))
        commands = {}
        for name, document in documents.items():
            path = home / f"{name}.json"
            path.write_text(json.dumps(document))
            commands[name] = [pflow, "run", str(path), "--no-cache"]
        cpu = cpu_seconds(commands, home, TRIES)
    return [
        Row(
            group="wide",
            what="check, plan, run and trace of 1,000 steps in a row, each, CPU",
            us=(cpu["chain"] - cpu["few"]) / (SOME - FEW),
            unit="s",
            rule="most",
            limit=150e-6,
        ),
        Row(
            group="wide",
            what="a fan-out of 10,000 nodes into one join, CPU",
            floor=cpu["some"] - cpu["start"],
            us=cpu["many"] - cpu["start"],
            unit="s",
            rule="ratio",
            limit=12,
            note="floor: one of 1,000; both without the start of the program",
        ),
    ]


def fan_out(count: int) -> dict[str, object]:
    """One node, then all but two of the others at once, then the last, which takes what they give."""
    wide = [f"n{index}" for index in range(1, count - 1)]
    nodes = [{"id": "first", "type": "echo", "params": {"x": 1}}]
    nodes += [{"id": name, "type": "echo", "params": {"x": "${first.x}"}} for name in wide]
    nodes += [{"id": "last", "type": "echo", "params": {"x": [f"${{{name}.x}}" for name in wide]}}]
    return {"nodes": nodes, "edges": "data"}
