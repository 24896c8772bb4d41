"""pflow as an MCP server, beside the smallest server on the same SDK and the same tool calls made one by one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

import dev_servers
from bench.measure import ROOT, Figures, in_fresh_process
from bench.row import Row
from bench.tools import fill_registry
from examples.tasks import fixtures, raw

ECHO = (sys.executable, "-P", str(Path(__file__).with_name("sdk_echo.py")))
PFLOW = (sys.executable, "-m", "pflow", "serve", "mcp")
TRIVIAL = {"nodes": [{"id": "a", "type": "echo", "params": {"x": 1}}], "outputs": {"x": {"source": "${a.x}"}}}
SLEEPS = {"nodes": [{"id": "wait", "type": "shell", "params": {"command": "sleep 0.5"}}]}
TRIES = 7
CALLS = 300


def rows() -> list[Row]:
    failures = dev_servers.ensure()
    if failures:
        raise RuntimeError("\n".join(failures))
    figures = in_fresh_process(probe, repeats=1)
    return [
        Row(
            group="serve",
            what="`serve mcp`: spawn → tools/list",
            floor=figures["echo start"],
            us=figures["start"],
            unit="s",
            rule="ratio",
            limit=0.6,
            note="floor: an empty server on the same SDK",
        ),
        Row(
            group="serve",
            what="`workflow_execute` of a trivial document, warm",
            floor=figures["echo"],
            us=figures["execute"],
            unit="s",
            rule="ratio",
            limit=3,
            note="floor: the SDK's own echo",
        ),
        Row(
            group="serve",
            what="definitions of the 13 tools",
            us=figures["definitions"],
            unit="B",
            rule="most",
            limit=12_000,
        ),
        Row(
            group="serve",
            what="8 concurrent runs of a step of 0.5 s",
            floor=0.5,
            us=figures["concurrent"],
            unit="s",
            rule="most",
            limit=0.8,
            note="floor: the 0.5 s",
        ),
        Row(
            group="serve",
            what="`browse_components` among 2,000 tools",
            us=figures["browse"],
            unit="s",
            rule="most",
            limit=1,
        ),
        *(row for task in raw.TASKS for row in task_rows(task, figures)),
    ]


def task_rows(task: str, figures: Figures) -> list[Row]:
    """What one real task costs as one call."""
    return [
        Row(
            group="serve",
            what=f"{task} as one `workflow_execute`, warm servers",
            floor=figures[f"{task} raw"],
            us=figures[task],
            unit="s",
            rule="ratio",
            limit=1.2,
            note="floor: its tool calls one by one",
        ),
        Row(
            group="serve",
            what=f"{task}: arguments and result",
            floor=figures[f"{task} raw bytes"],
            us=figures[f"{task} bytes"],
            unit="B",
            rule="most",
            limit=1000,
            note="floor: those of its tool calls",
        ),
    ]


class Peer:
    """A client that blocks and checks nothing."""

    def __init__(self, argv: Sequence[str]) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        client = {"name": "bench", "version": "1"}
        self.ask("initialize", {"protocolVersion": raw.VERSION, "capabilities": {}, "clientInfo": client})
        self._write({"method": "notifications/initialized"})
        self.definitions = len(orjson.dumps(self.ask("tools/list", {})["tools"]))
        self.start = time.perf_counter() - began

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request."""
        [result] = self.ask_all([(method, params)])
        return result

    def ask_all(self, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """The results of requests that are all sent before the first answer is read."""
        for number, (method, params) in enumerate(requests):
            self._write({"id": number, "method": method, "params": params})
        found: dict[int, dict[str, Any]] = {}
        assert self._process.stdout is not None
        while len(found) < len(requests):
            message = orjson.loads(self._process.stdout.readline())
            if "id" in message and "method" not in message:
                found[message["id"]] = message["result"]
        return [found[number] for number in range(len(requests))]

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool."""
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
        self._process.stdin.flush()


def probe(home: Path) -> Figures:
    """All figures, each the least of several tries taken in turns."""
    figures: Figures = {}
    for _ in range(TRIES):
        for name, argv in (("echo start", ECHO), ("start", PFLOW)):
            with Peer(argv) as peer:
                keep(figures, name, peer.start)
    with Peer(ECHO) as echo, Peer(PFLOW) as pflow:
        figures["definitions"] = pflow.definitions
        for _ in range(CALLS):
            keep(figures, "echo", spent(lambda: echo.call("echo", {"text": "hi"})))
            keep(figures, "execute", spent(lambda: pflow.call("workflow_execute", {"workflow": TRIVIAL})))
        calls = [("tools/call", {"name": "workflow_execute", "arguments": {"workflow": SLEEPS}})] * 8
        for _ in range(3):
            keep(figures, "concurrent", spent(lambda: pflow.ask_all(calls)))
    tasks(home, figures)
    fill_registry(home)
    with Peer((*PFLOW, "--toolset", "core")) as pflow:
        query = {"query": "search records of server7"}
        for _ in range(3):
            keep(figures, "browse", spent(lambda: pflow.call("browse_components", query)))
    return figures


def tasks(home: Path, figures: Figures) -> None:
    """Each real task both ways, in turns, after a first time that starts the servers; outputs must be the same."""
    folder = fixtures.make(home / "tasks")
    config = fixtures.configure(folder)
    for words in (["import", str(config)], ["sync", "--all", "--yes"]):
        subprocess.run([sys.executable, "-m", "pflow", "mcp", *words], check=True, stdout=subprocess.DEVNULL)
    with raw.servers(config) as running, Peer(PFLOW) as pflow:
        for _ in range(TRIES):
            for task, (_, _, written) in raw.TASKS.items():
                began = time.perf_counter()
                text, tally = raw.run(task, running, folder)
                keep(figures, f"{task} raw", time.perf_counter() - began)
                figures[f"{task} raw bytes"] = tally.argument_bytes + tally.result_bytes
                (folder / written).unlink()
                document = str(ROOT / "examples" / "tasks" / f"{task}.yaml")
                arguments = {"workflow": document, "parameters": {"folder": str(folder)}}
                began = time.perf_counter()
                result = pflow.call("workflow_execute", arguments)
                keep(figures, task, time.perf_counter() - began)
                keep(figures, f"{task} bytes", len(orjson.dumps(arguments)) + len(orjson.dumps(result)))
                assert (folder / written).read_text() == text, f"{task}: the two ways differ"


def spent(work: Any) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def keep(figures: Figures, name: str, seconds: float) -> None:
    """The least so far."""
    figures[name] = min(seconds, figures.get(name, seconds))
