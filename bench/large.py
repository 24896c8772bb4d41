"""Large values: passed on from step to step, and made anew by every step."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from pathlib import Path

from bench import floor
from bench.flow import make_home
from bench.measure import Figures, disk_bytes, in_fresh_process
from bench.row import Row
from pflow.workspace.workspace import Workspace

STEPS = 20
MEGABYTE = 1_000_000

PASSED_ON = {
    "inputs": {"value": {"type": "string"}},
    "nodes": [
        {"id": "s0", "type": "echo", "params": {"value": "${value}"}},
        *(
            {"id": f"s{index}", "type": "echo", "params": {"value": f"${{s{index - 1}.value}}"}}
            for index in range(1, STEPS)
        ),
    ],
}
MADE_ANEW = {"nodes": [{"id": f"s{index}", "type": "megabyte", "params": {"seed": index}} for index in range(STEPS)]}


def rows() -> list[Row]:
    found: list[Row] = []
    limits = {"passes one 1 MB value on": (3.8, 1.1e6), "makes a new 1 MB value": (1.7, 21e6)}
    for (what, (cpu, disk)), probe in zip(limits.items(), (pass_on, make_anew), strict=True):
        figures = in_fresh_process(probe)
        found += [
            Row(
                group="large",
                what=f"20 steps, each {what}, CPU",
                floor=figures["floor_cpu"],
                us=figures["cpu"],
                unit="s",
                rule="ratio",
                limit=cpu,
                note="floor: write it to SQLite",
            ),
            Row(
                group="large",
                what="  on disk, journal and trace",
                floor=figures["floor_disk"],
                us=figures["disk"],
                unit="B",
                rule="most",
                limit=disk,
            ),
            Row(
                group="large",
                what="  in memory, above idle",
                us=figures["memory"],
                unit="B",
                rule="most",
                limit=40e6,
            ),
        ]
    return found


def pass_on(home: Path) -> Figures:
    """One value through twenty steps."""
    return figures(home, PASSED_ON, {"value": "x" * MEGABYTE}, ["x" * MEGABYTE])


def make_anew(home: Path) -> Figures:
    """Twenty values."""
    return figures(home, MADE_ANEW, {}, [f"{seed:08}" * (MEGABYTE // 8) for seed in range(STEPS)])


def figures(home: Path, document: Mapping[str, object], inputs: Mapping[str, object], values: list[str]) -> Figures:
    """Run a document as people do, trace and all, after a small run has loaded what any run loads."""
    place = make_home(home)
    with Workspace(place) as workspace:
        workspace.run({"nodes": [{"id": "idle", "type": "nothing"}]})
    idle_disk = disk_bytes(place.root)  # after closing, when nothing waits in a log beside the journal
    with Workspace(place) as workspace:
        workspace.runs()
        idle_memory = peak_memory()
        began = time.process_time()
        outcome = workspace.run(document, inputs, cache=False)
        cpu = time.process_time() - began
        assert outcome.success, outcome.error
        memory = peak_memory() - idle_memory
    disk = disk_bytes(place.root) - idle_disk
    floor_cpu = floor.values_cpu_seconds(home / "floor.db", values)
    floor_disk = sum(len(value) for value in values)
    return {"cpu": cpu, "disk": disk, "memory": memory, "floor_cpu": floor_cpu, "floor_disk": floor_disk}


def peak_memory() -> int:
    """The most memory this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
