"""pflow killed a hundred times, at any moment of a run with three servers, leaves no process behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.mcp.protocol.kit import alive, argv, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")

KILLS = 100
AT_ONCE = 4
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
SERVERS = {
    "polite": ("legacy", "good"),
    "stubborn": ("modern", "ignores-eof"),
    "slow": ("legacy", "slow-with-progress"),
}
"""One leaves when its input ends, one does not, and one keeps the run going for a while."""

DOCUMENT = {
    "nodes": [
        {"id": "start", "type": "echo", "params": {"text": "go"}},
        *({"id": name, "type": f"mcp-{name}-echo", "params": {"text": "hi"}} for name in SERVERS),
    ],
    "edges": [{"from": "start", "to": name} for name in SERVERS],
}


def environment(home: Path, mark: str) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "PFLOW_HOME": str(home / ".pflow"), "KILL_MARK": mark}


def pflow(home: Path, mark: str, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "pflow", *words],
        env=environment(home, mark),
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def marked(mark: str) -> set[int]:
    """Every process that has the mark in its environment; pflow passes it on to its servers."""
    found = set()
    wanted = f"KILL_MARK={mark}\0".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes() + b"\0":
                found.add(int(path.parent.name))
        except OSError:
            continue  # it has just ended, or is somebody else's
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three synced servers and the document."""
    home = tmp_path_factory.mktemp("kill")
    servers = {}
    for name, (speaks, behaviour) in SERVERS.items():
        command, *args = argv(speaks, behaviour)
        env = {"KILL_MARK": "${KILL_MARK}", "PIDS": str(home / "${KILL_MARK}.pids")}
        servers[name] = {"command": command, "args": args, "env": env}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (home / "document.json").write_text(json.dumps(DOCUMENT))
    for words in (("import", "mcp.json"), ("sync", "--all", "--yes")):
        assert pflow(home, "setup", "mcp", *words).wait(60) == 0
    return home


def started(home: Path, mark: str) -> list[int]:
    """The servers that have noted that they run."""
    pids = home / f"{mark}.pids"
    return [int(line) for line in pids.read_text().splitlines()] if pids.exists() else []


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_no_process_is_left(home: Path) -> None:
    """Some are killed while pflow starts, the others when one, two or three servers run, and a while later."""
    chance = random.Random(20_260_728)
    plan = [
        (f"kill-{index}", index % (len(SERVERS) + 1), chance.uniform(0, 0.25), chance.choice(SIGNALS))
        for index in range(KILLS)
    ]

    def kill(planned: tuple[str, int, float, signal.Signals]) -> bool:
        """Whether the run was going on when it was killed; returns only when nothing of it is left."""
        mark, servers, delay, number = planned
        process = pflow(home, mark, "run", "document.json")
        wait_until(lambda: len(started(home, mark)) >= servers or process.poll() is not None)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            pass
        was_running = process.poll() is None
        process.send_signal(number)
        process.wait(60)
        wait_until(lambda: not any(map(alive, started(home, mark))))
        wait_until(lambda: not marked(mark))  # there may be others, but looking for them takes long
        return was_running

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert sum(pool.map(kill, plan)) == KILLS


@pytest.mark.requirement("client:nfr-3")
def test_a_run_that_ends_leaves_no_server(home: Path) -> None:
    process = pflow(home, "whole", "run", "document.json")
    wait_until(lambda: len(started(home, "whole")) == len(SERVERS))
    assert {process.pid, *started(home, "whole")} <= marked("whole")
    assert process.wait(60) == 0
    assert marked("whole") == set()
