"""Steps that call a tool of a warm MCP server, beside the bare call and a step that does nothing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson

from bench.measure import Figures, in_fresh_process
from bench.row import Row
from pflow.core.file.home import Home
from pflow.workspace import Workspace
from pflow.workspace.server_report import SyncReport

SERVER = str(Path(__file__).with_name("echo_server.py"))
STEPS = 300
FEW = 10
TRIES = 5
WAIT = 0.05


def rows() -> list[Row]:
    figures = in_fresh_process(probe)
    return [
        Row(
            group="mcp",
            what="a warm MCP step, durable",
            floor=10 * figures["bare"] + figures["nothing"],
            us=figures["step"],
            unit="s",
            rule="ratio",
            limit=1.1,
            note="floor: ten bare JSON-RPC calls and an `echo` step, all on one CPU",
        ),
        Row(
            group="mcp",
            what="processes of a server for a run of 300 calls",
            floor=1,
            us=figures["processes"],
            unit="processes",
            rule="most",
            limit=1,
        ),
        Row(
            group="mcp",
            what="100 concurrent calls of 50 ms on one server",
            floor=WAIT,
            us=figures["concurrent"],
            unit="s",
            rule="ratio",
            limit=1.2,
            note="floor: the 50 ms",
        ),
    ]


def probe(home: Path) -> Figures:
    """All figures on one server each."""
    place = Home(home / ".pflow")
    pids = home / "pids"
    with Workspace(place) as workspace:
        argv = {"command": sys.executable, "args": ["-S", SERVER, str(pids)]}
        workspace.servers.add("bare", {**argv, "env": {"PYTHONPATH": orjson_folder()}})
        [report] = workspace.servers.sync(["bare"], agree=None)
        assert isinstance(report, SyncReport), report
        pids.write_text("")
        with one_cpu():
            least = asyncio.run(measure(workspace, one_by_one()))
            call = bare()
        processes = len(pids.read_text().splitlines())
        least |= asyncio.run(measure(workspace, {"concurrent": all_at_once()}))
    return {
        "step": (least["calls"] - least["few"]) / (STEPS - FEW),
        "nothing": least["nothing"] / STEPS,
        "bare": call,
        "processes": processes,
        "concurrent": least["concurrent"],
    }


@contextmanager
def one_cpu() -> Iterator[None]:
    """Keep client and server on one processor: which of several the kernel wakes one on may cost ten times the call."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


async def measure(workspace: Workspace, documents: Mapping[str, Mapping[str, object]]) -> Figures:
    """The least seconds of several runs on warm servers."""
    seconds: Figures = {}
    for _ in range(TRIES):
        for name, document in documents.items():
            outcome = await workspace.begin(document, cache=False).finish()
            assert outcome.success, outcome.error
            spent = outcome.duration_ms / 1000
            seconds[name] = min(spent, seconds.get(name, spent))
    await workspace.disconnect()
    return seconds


def one_by_one() -> dict[str, Mapping[str, object]]:
    """Calls one after another, many and few, and as many steps that do nothing."""
    hi: dict[str, object] = {"text": "hi"}
    return {
        "calls": chain("mcp-bare-echo", hi),
        "few": chain("mcp-bare-echo", hi, FEW),
        "nothing": chain("echo", hi),
    }


def all_at_once() -> dict[str, object]:
    """A hundred calls that take 50 ms each."""
    batch = {"items": ["hi"] * 100, "concurrency": 100}
    return {"nodes": [{"id": "wait", "type": "mcp-bare-wait", "params": {"text": "${item}"}, "batch": batch}]}


def chain(kind: str, params: dict[str, object], count: int = STEPS) -> dict[str, object]:
    """Steps of one type, one after another."""
    return {"nodes": [{"id": f"n{index}", "type": kind, "params": params} for index in range(count)]}


def bare() -> float:
    """One call of the same server from a client that blocks and checks nothing."""
    argv = [sys.executable, "-S", SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, env={"PYTHONPATH": orjson_folder()}) as server:
        assert server.stdin is not None and server.stdout is not None
        best = float("inf")
        for round_ in range(20):
            began = time.perf_counter()
            for number in range(100):
                params = {"name": "echo", "arguments": {"text": "hi"}}
                message = {"jsonrpc": "2.0", "id": round_ * 100 + number, "method": "tools/call", "params": params}
                server.stdin.write(orjson.dumps(message) + b"\n")
                server.stdin.flush()
                orjson.loads(server.stdout.readline())
            best = min(best, (time.perf_counter() - began) / 100)
        server.stdin.close()
    return best


def orjson_folder() -> str:
    """Where the server finds its one package."""
    return str(Path(orjson.__file__).parent.parent)
