"""Tasks over real MCP servers: as one run, beside the same tool calls made one by one by an agent that is a script."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from pathlib import Path

import dev_servers
from bench.measure import ROOT, Figures, in_fresh_process
from bench.row import Row
from examples.tasks import fixtures, raw
from pflow.core.file.home import Home
from pflow.process.fork_server import ForkServer
from pflow.workspace.workspace import Workspace

TRIES = 7


def rows() -> list[Row]:
    failures = dev_servers.ensure()
    if failures:
        raise RuntimeError("\n".join(failures))
    figures = in_fresh_process(both, repeats=1)
    return [
        Row(
            group="tasks",
            what=f"{task}, {figures[f'{task} calls']:.0f} tool calls in one run, warm servers",
            floor=figures[f"{task} raw"],
            us=figures[task],
            unit="s",
            rule="ratio",
            limit=1.1,
            note="floor: the calls one by one, results computed with between them",
        )
        for task in raw.TASKS
    ]


def both(home: Path) -> Figures:
    """Each task both ways, in turns, after a first time that starts the servers; outputs must be the same."""
    folder = fixtures.make(home / "tasks")
    config = fixtures.configure(folder)
    for words in (["import", str(config)], ["sync", "--all", "--yes"]):
        subprocess.run([sys.executable, "-m", "pflow", "mcp", *words], check=True, stdout=subprocess.DEVNULL)
    workers = ForkServer()
    with (
        contextlib.closing(workers),
        raw.servers(config) as running,
        Workspace(Home(home / ".pflow"), workers=workers) as workspace,
    ):
        return asyncio.run(measure(running, workspace, folder))


async def measure(running: dict[str, raw.Server], workspace: Workspace, folder: Path) -> Figures:
    """The least time of each task each way."""
    figures: Figures = {}
    for _ in range(TRIES):
        for task, (_, _, written) in raw.TASKS.items():
            began = time.perf_counter()
            text, tally = raw.run(task, running, folder)
            keep(figures, f"{task} raw", time.perf_counter() - began)
            figures[f"{task} calls"] = tally.calls
            (folder / written).unlink()
            checked = str(ROOT / "examples" / "tasks" / f"{task}.yaml")
            began = time.perf_counter()
            outcome = await workspace.begin(checked, {"folder": str(folder)}, cache=False).finish()
            keep(figures, task, time.perf_counter() - began)
            assert outcome.success, outcome
            assert (folder / written).read_text() == text, f"{task}: the two ways differ"
    await workspace.disconnect()
    return figures


def keep(figures: Figures, name: str, seconds: float) -> None:
    """The least so far."""
    figures[name] = min(seconds, figures.get(name, seconds))
